// The view "fleet", of `chokepoint web`: what the address names is asked for, drawn, and asked for
// again now and then. Documents come from the server of this page alone.
//
//   #hosts    findings and the map        #runs  the folder of runs
//   #subject  one subject over time       #live  the run that goes on
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { note } from "../element/parts";
import { shell } from "../element/shell";
import { parse, type Where } from "./address";
import { ask, contentOf, type Found } from "./ask";
import { hostsView } from "./hosts";
import { liveView } from "./live";
import { runsView } from "./runs";
import { subjectView } from "./subject";

const places = [
  { id: "hosts", title: "Hosts" },
  { id: "runs", title: "Runs" },
  { id: "live", title: "Now" },
];

// How long after an answer the same is asked again.
const pauses: Record<Where["place"], number> = { hosts: 60_000, subject: 0, runs: 15_000, live: 3_000 };

class Page {
  private where: Where = { place: "hosts", subject: "", metric: "" };
  private visit = 0; // one is ended by the next
  private drawn = ""; // content of what is shown

  constructor(
    private readonly main: HTMLElement,
    private readonly ready: () => void,
  ) {}

  go(): void {
    const where = parse(location.hash);
    if (!where) {
      return;
    }
    const isFirst = this.visit === 0;
    this.where = where;
    this.visit += 1;
    this.drawn = "";
    this.markPlace();
    document.title = `${where.subject || (places.find((each) => each.id === where.place)?.title ?? "")} · chokepoint`;
    this.main.replaceChildren(h("p", { class: "note", attributes: { role: "status" } }, "Reading …"));
    if (!isFirst) {
      scrollTo(0, 0);
      this.main.focus();
    }
    void this.stay(this.visit);
  }

  private markPlace(): void {
    document.querySelectorAll<HTMLAnchorElement>(".contents a").forEach((link) => {
      const isHere = link.hash === `#${this.where.place}`;
      if (isHere) {
        link.setAttribute("aria-current", "page");
      } else {
        link.removeAttribute("aria-current");
      }
    });
  }

  private async stay(visit: number): Promise<void> {
    while (visit === this.visit) {
      if (!document.hidden) {
        await this.read(visit);
      }
      const pause = pauses[this.where.place];
      if (pause === 0) {
        return;
      }
      await new Promise((resume) => setTimeout(resume, pause));
    }
  }

  private async read(visit: number): Promise<void> {
    const { place, subject, metric } = this.where;
    if (place === "hosts") {
      // The newest values are there at once; to find changes may take a while.
      const whole = ask("fleet");
      const isSlow = await Promise.race([
        whole.then(() => false),
        new Promise<boolean>((resume) => setTimeout(() => resume(true), 300)),
      ]);
      if (isSlow && this.drawn === "") {
        this.show(visit, await ask("newest"), hostsView);
      }
      this.show(visit, await whole, hostsView);
    } else if (place === "subject") {
      const found = await ask("subject", metric ? { subject, metric } : { subject });
      this.show(visit, found, (document) => subjectView(document, this.where));
    } else {
      await this.readRuns(visit, place);
    }
  }

  private async readRuns(visit: number, place: "runs" | "live"): Promise<void> {
    const runs = await ask("runs");
    if (place === "runs" || "trouble" in runs) {
      this.show(visit, runs, runsView);
      return;
    }
    const going = runs.document.at("runs").items.find((run: Ref) => run.at("state").text === "running");
    const run = going?.at("run").text;
    if (!run) {
      this.say(visit, "No run goes on now. 'chokepoint run -- COMMAND' starts one.");
      return;
    }
    this.show(visit, await ask("live", { run }), liveView);
  }

  private show(visit: number, found: Found, draw: (document: Ref) => HTMLElement[]): void {
    if (visit !== this.visit) {
      return;
    }
    if ("trouble" in found) {
      if (this.drawn === "") {
        this.say(visit, found.trouble);
      }
      return;
    }
    const content = contentOf(found.document);
    if (content !== this.drawn) {
      this.drawn = content;
      this.put(draw(found.document));
    }
    this.ready();
  }

  private say(visit: number, text: string): void {
    if (visit === this.visit) {
      this.drawn = "";
      this.main.replaceChildren(h("div", { class: "section", attributes: { role: "status" } }, note(text)));
      this.ready();
    }
  }

  // Who is in a scrolled box or on a link stays there when it is drawn anew.
  private put(parts: readonly HTMLElement[]): void {
    const boxes = [...this.main.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
    const held = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.hash : "";
    const isHeld = this.main.contains(document.activeElement) && held !== "";
    this.main.replaceChildren(...parts);
    [...this.main.querySelectorAll(".scroll")].forEach((box, at) => {
      const [left = 0, top = 0] = boxes[at] ?? [];
      box.scrollTo(left, top);
    });
    if (isHeld) {
      [...this.main.querySelectorAll("a")].find((link) => link.hash === held)?.focus();
    }
  }
}

export function drawFleet(_document: Ref, ready: () => void): void {
  const { main } = shell("history and runs", places);
  const page = new Page(main, ready);
  addEventListener("hashchange", () => page.go());
  page.go();
}
