// The lanes as a chart: what each rank was doing, and what the cursor points at.
import type uPlot from "uplot";
import { h } from "../element/h";
import { moment } from "../format/times";
import { format } from "../format/units";
import { makeChart } from "./chart";
import { covered, spanAt, type Lane } from "./lane_data";
import { lanesHook, rowHeight, rowsOf, type Row } from "./lane_paint";
import { momentsHook, type Moment } from "./overlay";
import type { TimeRange } from "./time_range";

const axisHeight = 26;
const above = 16; // for the numbers of moments

function sentence(lane: Lane, index: number, span: number): string {
  const start = lane.start[index] as number;
  const end = lane.end[index] as number;
  const count = lane.count[index] ?? 1;
  const bytes = lane.bytes[index] ?? null;
  return [
    lane.names[lane.name[index] ?? -1] ?? (count > 1 ? `${count} ${lane.label}` : lane.label),
    `${moment(start, span)} – ${moment(end, span)}`,
    format((end - start) * 1e3, "ms"),
    bytes === null ? "" : format(bytes, "bytes"),
  ]
    .filter(Boolean)
    .join(" · ");
}

function under(u: uPlot, rows: readonly Row[], readout: HTMLElement): void {
  const { left = -1, top = -1 } = u.cursor;
  const row = rows.find((each) => top >= each.top && top < each.top + rowHeight);
  const at = u.posToVal(left, "x");
  const index = row && left >= 0 ? spanAt(row.lane, at) : null;
  const span = (u.scales.x?.max ?? 1) - (u.scales.x?.min ?? 0);
  readout.textContent =
    row && index !== null
      ? sentence(row.lane, index, span)
      : left >= 0
        ? moment(at, span / 10)
        : hint;
}

const hint = "point at a span to read it";

// Headings are drawn on their own rows; a lane keeps to which rank it belongs here, in words.
function summary(lanes: readonly Lane[]): string {
  let heading = "";
  return lanes
    .map((lane) => {
      heading = lane.heading || heading;
      return `${heading} ${lane.label}: ${lane.start.length} spans, ${format(covered(lane), "s")}`;
    })
    .join("; ");
}

export function lanesChart(
  lanes: readonly Lane[],
  moments: readonly Moment[],
  range: TimeRange,
): HTMLElement {
  const { rows, height } = rowsOf(lanes);
  const label = `lanes of the ranks over time. ${summary(lanes)}`;
  const into = h("div", { class: "chart", attributes: { role: "img", "aria-label": label } });
  const readout = h("output", "readout", hint);
  const ends = [range.all.from, range.all.to];
  queueMicrotask(() => {
    const u = makeChart(
      into,
      {
        height: height + axisHeight + above,
        unit: null,
        data: [ends, [null, null]],
        series: [{ show: false }],
        hasTimes: true,
        above,
        hooks: {
          draw: [lanesHook(rows), momentsHook(moments, true)],
          setCursor: [(self: uPlot) => under(self, rows, readout)],
        },
      },
      range,
    );
    return u;
  });
  return h("div", "lanes", into, readout);
}
