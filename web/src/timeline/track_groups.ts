// The charts of all tracks, by group; drawn anew when other nodes or flows are chosen.
import type { Flow } from "../document/flow";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { looksOf, familiesOf } from "./colours";
import type { Line } from "./legend";
import type { Moment } from "./overlay";
import { groupName, grouped, panelsOf, trackOf, type Panel, type Track } from "./panels";
import type { Selection } from "./selection";
import type { TimeRange } from "./time_range";
import { trackChart } from "./track_chart";

export interface Scene {
  readonly range: TimeRange;
  readonly selection: Selection;
  readonly moments: readonly Moment[];
  readonly flows: readonly Flow[];
  readonly nodes: readonly string[];
}

const arrows: Record<string, string> = { a_to_b: "→", b_to_a: "←" };

export class TrackGroups {
  readonly element = h("div", "groups");
  private readonly tracks: Track[];
  private readonly axes: number[][];
  private readonly closed = new Set<string>();

  constructor(
    timeline: Ref<Report["timeline"]>,
    private readonly scene: Scene,
  ) {
    this.tracks = timeline.at("tracks").items.map(trackOf);
    this.axes = timeline.at("axes").items.map((axis) => axis.at("edges_s").numbers as number[]);
    scene.selection.follow(() => this.draw());
    this.draw();
  }

  private draw(): void {
    const shown = this.tracks.filter((track) => this.isShown(track));
    this.element.replaceChildren(
      ...grouped(panelsOf(shown)).map(([group, panels]) => this.group(group, panels)),
    );
  }

  private isShown(track: Track): boolean {
    const { selection } = this.scene;
    return track.flow === null ? selection.hasNode(track.node) : selection.hasFlow(track.flow);
  }

  private group(group: string, panels: readonly Panel[]): HTMLElement {
    const last = panels.length - 1;
    const element = h(
      "details",
      { class: "group", attributes: { open: !this.closed.has(group) } },
      h("summary", {}, h("h3", {}, groupName(group))),
      ...panels.map((panel, index) => this.panel(panel, index === last)),
    );
    element.addEventListener("toggle", () => {
      this.closed[element.open ? "delete" : "add"](group);
    });
    return element;
  }

  private panel(panel: Panel, hasTimes: boolean): HTMLElement {
    const { nodes, selection, moments, range } = this.scene;
    const looks = looksOf(panel.tracks, familiesOf(nodes, selection.flows, panel.isOfFlows));
    const lines = panel.tracks.map((track, index) => ({
      ...this.line(track),
      look: looks[index] as Line["look"],
    }));
    const title = panel.isOfFlows ? `${panel.title}, chosen flows` : panel.title;
    return trackChart(title, panel.unit, lines, moments, range, hasTimes);
  }

  private line(track: Track): Omit<Line, "look"> {
    return {
      label: this.label(track),
      edges: this.axes[track.axis] ?? [],
      values: track.values,
      unit: track.unit,
      source: track.source,
    };
  }

  private label(track: Track): string {
    const flow = track.flow === null ? undefined : this.scene.flows[track.flow];
    if (!flow) {
      return [track.node, track.subject].filter(Boolean).join(" ");
    }
    const arrow = arrows[track.direction] ?? "⇄";
    return flow.label.replace("⇄", arrow);
  }
}
