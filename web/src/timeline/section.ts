// The timeline over all nodes.
import type { Flow } from "../document/flow";
import { largest } from "../document/flow";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { folded, note, section } from "../element/parts";
import { lanesChart } from "./lanes";
import { lanesOf } from "./lane_data";
import { momentsTable } from "./moments_table";
import { momentsOf } from "./overlay";
import { clocks, remarks } from "./remarks";
import { Selection } from "./selection";
import { steerByKeys, steerByTouch, steerByWheel } from "./steering";
import { TimeRange } from "./time_range";
import { toolbar } from "./toolbar";
import { TrackGroups } from "./track_groups";

// Somewhat more than the run, so that what stands at its ends can be seen.
export function rangeOf(timeline: Ref<Report["timeline"]>): TimeRange {
  const from = timeline.at("start_s").number ?? 0;
  const to = timeline.at("end_s").number ?? from + 1;
  const width = Math.max(to - from, 1e-3);
  return new TimeRange({ from: from - width * 0.005, to: to + width * 0.005 });
}

export function selectionOf(report: Ref<Report>, flows: readonly Flow[]): Selection {
  const timeline = report.at("timeline");
  const named = timeline.at("nodes").items.map((node) => node.at("name").text ?? "");
  const tracks = timeline.at("tracks").items.map((track) => track.at("flow").number);
  const drawable = new Set(tracks.filter((flow) => flow !== null));
  return new Selection(
    named,
    drawable,
    largest(
      flows.filter((flow) => drawable.has(flow.index)),
      4,
    ),
  );
}

const help =
  "Drag to come closer, double click for the whole run. By keyboard: + and − zoom, arrows move, " +
  "0 shows all. Ctrl with the wheel, or two fingers, zoom too.";

export interface Parts {
  readonly report: Ref<Report>;
  readonly range: TimeRange;
  readonly selection: Selection;
  readonly flows: readonly Flow[];
}

export function timelineSection({ report, range, selection, flows }: Parts): HTMLElement {
  const timeline = report.at("timeline");
  const moments = momentsOf(report);
  const lanes = h("div", "lanes-box");
  const drawLanes = () => {
    const shown = lanesOf(timeline, (node) => selection.hasNode(node));
    lanes.replaceChildren(
      shown.length > 0
        ? lanesChart(shown, moments, range)
        : note("No step, collective or wait of any rank was recorded."),
    );
  };
  selection.follow(drawLanes);
  drawLanes();
  const groups = new TrackGroups(timeline, {
    range,
    selection,
    moments,
    flows,
    nodes: selection.nodes,
  });
  const charts = h(
    "div",
    {
      class: "charts",
      attributes: { tabindex: 0, role: "group", "aria-label": `timeline. ${help}` },
    },
    toolbar(range, selection, flows),
    lanes,
    groups.element,
  );
  steerByKeys(charts, range);
  steerByWheel(charts, range);
  steerByTouch(charts, range);
  return section(
    { id: "timeline", title: "Timeline", lead: help },
    remarks(timeline),
    clocks(timeline),
    moments.length > 0
      ? folded(
          `${moments.length} moments of evidence and events`,
          momentsTable(moments, range, charts),
        )
      : null,
    charts,
  );
}
