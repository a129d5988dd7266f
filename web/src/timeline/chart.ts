// One chart of the timeline, by uPlot: the axis, cursor and zoom that all of them share.
import uPlot from "uplot";
import { moment } from "../format/times";
import { format } from "../format/units";
import type { Span, TimeRange } from "./time_range";

export const gutter = (): number => (innerWidth < 700 ? 58 : 92);

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

export const colourOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const font = "11px system-ui, sans-serif";
const sync = uPlot.sync("timeline");
const shared = new Set(["mousemove", "mouseleave"]);

const grid = (): uPlot.Axis.Grid => ({ stroke: () => colourOf("--grid"), width: 1 });

// Decimal below a minute, then as clocks go.
const incrementsOfSeconds = [
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400],
];

function timeAxis(spec: ChartSpec): uPlot.Axis {
  return {
    stroke: () => colourOf("--muted"),
    font,
    size: spec.hasTimes ? 26 : 4,
    space: gutter() < 90 ? 68 : 90,
    incrs: [...incrementsOfSeconds],
    grid: grid(),
    ticks: { show: false },
    values: (u, splits) => {
      const { min, max } = u.scales.x as { min: number; max: number };
      return splits.map((at) => (spec.hasTimes ? moment(at, max - min) : ""));
    },
  };
}

function valueAxis(unit: string | null): uPlot.Axis {
  return {
    stroke: () => colourOf("--muted"),
    font,
    size: gutter,
    space: 26,
    grid: unit === null ? { show: false } : grid(),
    ticks: { show: false },
    values: (_u, splits) => splits.map((at) => (unit === null ? "" : format(at, unit))),
  };
}

function top(spec: ChartSpec): uPlot.Range.Function {
  return (_u, _low, high) => [0, spec.most ?? Math.max(high ?? 0, 1e-6) * 1.1];
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
    axes: [timeAxis(spec), valueAxis(spec.unit)],
    series: [{}, ...spec.series],
    bands: spec.bands ?? [],
    cursor: cursor(range),
    hooks: { ...spec.hooks, setSelect: [dragged(range)], ready: [tell], setScale: [tell] },
  };
}

const charts = new Set<uPlot>();

// A chart whose element has left the page goes with it.
function isGone(u: uPlot): boolean {
  if (u.root.isConnected) {
    return false;
  }
  charts.delete(u);
  u.destroy();
  return true;
}

// Fills the element with it, at its width, and keeps it in step with the range.
export function makeChart(into: HTMLElement, spec: ChartSpec, range: TimeRange): uPlot {
  const u = new uPlot(optionsOf(spec, range, widthOf(into)), spec.data, into);
  charts.add(u);
  const follow = ({ from, to }: Span) => {
    if (isGone(u)) {
      range.leave(follow);
    } else {
      u.setScale("x", { min: from, max: to });
    }
  };
  range.follow(follow);
  new ResizeObserver(() => resize(u, into)).observe(into);
  return u;
}

const widthOf = (element: HTMLElement): number => Math.max(element.clientWidth, 200);

function resize(u: uPlot, into: HTMLElement): void {
  if (into.clientWidth > 0 && into.clientWidth !== u.width) {
    u.setSize({ width: widthOf(into), height: u.height });
  }
}

// Colours are read anew: another theme, or paper.
export function redrawAll(): void {
  [...charts].filter((u) => !isGone(u)).forEach((u) => u.redraw(false, true));
}

export function fitAll(width: number | null): void {
  [...charts].filter((u) => !isGone(u)).forEach((u) => {
    const into = u.root.parentElement;
    u.setSize({ width: width ?? widthOf(into ?? u.root), height: u.height });
  });
}
