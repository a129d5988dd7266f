// One figure of all rows as bars, grouped as the rows are, with their spread.
import uPlot from "uplot";
import type { Account } from "../accounting/accounts";
import { canvasFill } from "../accounting/pattern";
import { swatch } from "../accounting/total_bar";
import { h } from "../element/h";
import { format } from "../format/units";
import { font, valueAxis } from "../chart/axes";
import { colourOf, register } from "../chart/charts";
import { lookOf } from "./looks";
import { meanOf, spreadOf, type Cluster, type Figure, type Group } from "./model";

const inner = 0.8; // of a category's width, for its bars

interface Bars {
  readonly figure: Figure;
  readonly cluster: Cluster;
  readonly looks: readonly Account[];
  readonly width: number;
}

const leftOf = (bars: Bars, series: number, category: number): number =>
  category - inner / 2 + series * bars.width;

const value = (
  bars: Bars,
  series: number,
  category: number,
  of: (group: Group, figure: Figure) => { number: number | null },
) => {
  const group = bars.cluster.at[series]?.[category];
  return group ? of(group, bars.figure).number : null;
};

function seriesOf(bars: Bars, series: number): uPlot.Series {
  const paths = uPlot.paths.bars?.({
    disp: {
      x0: { unit: 1, values: (u) => (u.data[0] as number[]).map((at) => leftOf(bars, series, at)) },
      size: { unit: 1, values: () => [bars.width * 0.92] },
    },
  });
  return {
    fill: (u) => canvasFill(u.ctx, bars.looks[series] as Account),
    width: 0,
    points: { show: false },
    paths,
  };
}

// From one standard deviation below to one above.
function drawSpreads(u: uPlot, bars: Bars): void {
  const cap = 4 * devicePixelRatio;
  u.ctx.save();
  u.ctx.strokeStyle = colourOf("--ink");
  u.ctx.lineWidth = 1.25 * devicePixelRatio;
  u.ctx.beginPath();
  bars.cluster.series.forEach((_, series) => {
    bars.cluster.categories.forEach((__, category) => {
      const mean = value(bars, series, category, meanOf);
      const spread = value(bars, series, category, spreadOf);
      if (mean !== null && spread !== null) {
        const at = u.valToPos(leftOf(bars, series, category) + bars.width * 0.46, "x", true);
        const [low, high] = [
          u.valToPos(Math.max(mean - spread, 0), "y", true),
          u.valToPos(mean + spread, "y", true),
        ];
        u.ctx.moveTo(at, low);
        u.ctx.lineTo(at, high);
        u.ctx.moveTo(at - cap, high);
        u.ctx.lineTo(at + cap, high);
        u.ctx.moveTo(at - cap, low);
        u.ctx.lineTo(at + cap, low);
      }
    });
  });
  u.ctx.stroke();
  u.ctx.restore();
}

function highest(bars: Bars): number {
  const ends = bars.cluster.at.flatMap((row, series) =>
    row.map(
      (_, category) =>
        (value(bars, series, category, meanOf) ?? 0) +
        (value(bars, series, category, spreadOf) ?? 0),
    ),
  );
  return Math.max(...ends, 1e-9);
}

const short = (name: string, room: number): string =>
  name.length > room ? `${name.slice(0, room - 1)}…` : name;

function categoryAxis(bars: Bars): uPlot.Axis {
  const { categories } = bars.cluster;
  return {
    stroke: () => colourOf("--muted"),
    font,
    size: 30,
    grid: { show: false },
    ticks: { show: false },
    splits: () => categories.map((_, index) => index),
    values: (u, splits) => {
      const room = Math.max(3, Math.floor(u.width / Math.max(categories.length, 1) / 7));
      return splits.map((at) => short(categories[at] ?? "", room));
    },
  };
}

function optionsOf(bars: Bars, width: number): uPlot.Options {
  const last = bars.cluster.categories.length - 1;
  return {
    width,
    height: 210,
    legend: { show: false },
    cursor: { show: false },
    padding: [10, 8, 0, 0],
    scales: {
      x: { time: false, range: () => [-0.5, last + 0.5] },
      y: { range: () => [0, highest(bars) * 1.08] },
    },
    axes: [categoryAxis(bars), valueAxis(bars.figure.unit)],
    series: [{}, ...bars.cluster.series.map((_, series) => seriesOf(bars, series))],
    hooks: { draw: [(u) => drawSpreads(u, bars)] },
  };
}

function summary(bars: Bars): string {
  const parts = bars.cluster.at.flatMap((row, series) =>
    row.map((_, category) => {
      const mean = value(bars, series, category, meanOf);
      const name = `${bars.cluster.categories[category]} ${bars.cluster.series[series]}`.trim();
      return `${name}: ${mean === null ? "not measured" : format(mean, bars.figure.unit)}`;
    }),
  );
  return `${bars.figure.title} by row. ${parts.join("; ")}`;
}

export function legendOf(cluster: Cluster): HTMLElement | null {
  return cluster.series.length < 2
    ? null
    : h(
        "ul",
        "legend flat",
        ...cluster.series.map((name, index) => h("li", {}, swatch(lookOf(index, name)), name)),
      );
}

export function barChart(figure: Figure, cluster: Cluster): HTMLElement {
  const looks = cluster.series.map((name, index) => lookOf(index, name));
  const bars = { figure, cluster, looks, width: inner / cluster.series.length };
  const into = h("div", {
    class: "chart bars",
    attributes: { role: "img", "aria-label": summary(bars) },
  });
  const columns = cluster.at.map((row, series) =>
    row.map((_, category) => value(bars, series, category, meanOf)),
  );
  queueMicrotask(() => {
    const data = [cluster.categories.map((_, index) => index), ...columns] as uPlot.AlignedData;
    register(new uPlot(optionsOf(bars, Math.max(into.clientWidth, 200)), data, into), into);
  });
  return h("figure", "bar-figure", h("figcaption", {}, figure.title), into);
}
