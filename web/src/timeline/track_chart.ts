// One panel as a chart with its legend.
import uPlot from "uplot";
import { h } from "../element/h";
import { whenNear } from "../element/schedule";
import { colourOf } from "../chart/charts";
import { makeChart } from "./chart";
import { extremesOf, stepped } from "./columns";
import { legendOf, summaryOf, type Line } from "./legend";
import { momentsHook, type Moment } from "./overlay";
import type { TimeRange } from "./time_range";

const height = 104;
const paths = uPlot.paths.stepped?.({ align: 1 });

function seriesOf(line: Line): uPlot.Series {
  return {
    stroke: () => colourOf(line.look.colour),
    width: 1.6,
    dash: line.look.dash ?? [],
    points: { show: false },
    paths,
    spanGaps: false,
  };
}

// Lines may have edges of their own; then uPlot joins them.
function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const columns = lines.map((line) => stepped(line.edges, line.values));
  const isOne = lines.every((line) => line.edges === lines[0]?.edges);
  if (isOne) {
    const longest = columns.reduce(
      (best, each) => (each[0].length > best.length ? each[0] : best),
      [] as number[],
    );
    return [longest, ...columns.map(([, values]) => values)] as uPlot.AlignedData;
  }
  return uPlot.join(columns.map((each) => each as unknown as uPlot.AlignedData));
}

// Busy shares are read against all there is; small ones against themselves.
function mostOf(unit: string, lines: readonly Line[]): { most?: number } {
  const peaks = lines.map((line) => extremesOf(line.edges, line.values)?.peak ?? 0);
  const peak = Math.max(0, ...peaks);
  return unit === "percent" && peak > 30 ? { most: Math.max(100, peak) } : {};
}

export function trackChart(
  title: string,
  unit: string,
  lines: readonly Line[],
  moments: readonly Moment[],
  range: TimeRange,
  hasTimes: boolean,
): HTMLElement {
  const legend = legendOf(lines);
  const into = h("div", {
    class: hasTimes ? "chart with-times" : "chart",
    attributes: { role: "img", "aria-label": summaryOf(title, lines) },
  });
  const setCursor = (u: uPlot) => {
    const left = u.cursor.left ?? -1;
    legend.show(left < 0 ? null : u.posToVal(left, "x"));
  };
  whenNear(into, () => {
    const spec = {
      height: hasTimes ? height + 22 : height,
      unit,
      data: dataOf(lines),
      series: lines.map(seriesOf),
      hasTimes,
      hooks: { draw: [momentsHook(moments, false)], setCursor: [setCursor] },
      ...mostOf(unit, lines),
    };
    makeChart(into, spec, range);
  });
  return h("figure", "panel", h("figcaption", {}, title, legend.element), into);
}
