// One chart of the timeline, by uPlot: the axis, cursor and zoom that all of them share.
import uPlot from "uplot";
import { timeAxis, valueAxis } from "../chart/axes";
import { isGone, register, widthOf } from "../chart/charts";
import type { Span, TimeRange } from "./time_range";

export interface ChartSpec {
  readonly height: number;
  readonly unit: string | null; // null: no numbers at the left
  readonly data: uPlot.AlignedData;
  readonly series: uPlot.Series[];
  readonly hasTimes: boolean;
  readonly bands?: uPlot.Band[];
  readonly most?: number; // the scale's end, where that is known
  readonly above?: number; // room over the plot
  readonly hooks?: uPlot.Hooks.Arrays;
}

const sync = uPlot.sync("timeline");
const shared = new Set(["mousemove", "mouseleave"]);

function top(spec: ChartSpec): uPlot.Range.Function {
  return (_u, _low, high) => [0, spec.most ?? ((high ?? 0) > 0 ? (high ?? 0) * 1.1 : 1)];
}

// Dragging tells the range, which tells every chart.
function dragged(range: TimeRange): (u: uPlot) => void {
  return (u) => {
    if (u.select.width > 0) {
      range.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    }
  };
}

function cursor(range: TimeRange): uPlot.Cursor {
  return {
    y: false,
    points: { show: false },
    drag: { x: true, y: false, setScale: false, dist: 4 },
    bind: {
      dblclick: () => () => {
        range.showAll();
        return null;
      },
    },
    sync: {
      key: sync.key,
      setSeries: false,
      scales: ["x", null],
      filters: { pub: (type) => shared.has(type), sub: (type) => shared.has(type) },
    },
  };
}

// The element says what is in view, once that has been drawn.
const tell = (u: uPlot): void => {
  const into = u.root.parentElement;
  if (into) {
    into.dataset.from = String(u.scales.x?.min);
    into.dataset.to = String(u.scales.x?.max);
  }
};

function optionsOf(spec: ChartSpec, range: TimeRange, width: number): uPlot.Options {
  return {
    width,
    height: spec.height,
    legend: { show: false },
    padding: [spec.above ?? 8, 26, 0, 0],
    scales: {
      x: { time: false, auto: false, range: () => [range.view.from, range.view.to] },
      y: { range: top(spec) },
    },
    axes: [timeAxis(spec.hasTimes), valueAxis(spec.unit)],
    series: [{}, ...spec.series],
    bands: spec.bands ?? [],
    cursor: cursor(range),
    hooks: { ...spec.hooks, setSelect: [dragged(range)], ready: [tell], setScale: [tell] },
  };
}

// Fills the element with it, at its width, and keeps it in step with the range.
export function makeChart(into: HTMLElement, spec: ChartSpec, range: TimeRange): uPlot {
  const u = new uPlot(optionsOf(spec, range, widthOf(into)), spec.data, into);
  const follow = ({ from, to }: Span) => {
    if (isGone(u)) {
      range.leave(follow);
    } else {
      u.setScale("x", { min: from, max: to });
    }
  };
  range.follow(follow);
  return register(u, into);
}
