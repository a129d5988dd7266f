// What the reader looks at: a finding, whose ways the map then shows, and a way, whose figures stand
// beside the map. Who shows either follows it.
import type { WayPlace } from "./model";

type Listener = () => void;

export class Picks {
  finding: number | null = null;
  way: WayPlace | null = null;
  private readonly listeners: Listener[] = [];

  follow(listener: Listener): void {
    this.listeners.push(listener);
  }

  // The same again lets go of it.
  pickFinding(finding: number | null): void {
    this.finding = this.finding === finding ? null : finding;
    this.tell();
  }

  pickWay(way: WayPlace | null): void {
    if (way?.from !== this.way?.from || way?.to !== this.way?.to) {
      this.way = way;
      this.tell();
    }
  }

  private tell(): void {
    this.listeners.forEach((listener) => listener());
  }
}
