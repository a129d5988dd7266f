// Where the time of each step went: stacked bars on the timeline's own axis.
import uPlot from "uplot";
import type { Account } from "./accounts";
import { canvasFill } from "./pattern";
import { barsOf, dataOf, leastOf, type Bars } from "./step_bars";
import { swatch } from "./total_bar";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { moment } from "../format/times";
import { format } from "../format/units";
import { colourOf } from "../chart/charts";
import { makeChart } from "../timeline/chart";
import { firstAfter } from "../timeline/columns";
import type { TimeRange } from "../timeline/time_range";

// Between bars that are wide enough to be told apart.
function separate(u: uPlot, bars: Bars): void {
  const { min, max } = u.scales.x as { min: number; max: number };
  const seen = bars.start.filter((start) => start >= min && start <= max);
  const first = bars.start.findIndex((start) => start >= min);
  const width = (bars.end[first] ?? 0) - (bars.start[first] ?? 0);
  if ((u.bbox.width * width) / (max - min) < 5 * devicePixelRatio) {
    return;
  }
  u.ctx.fillStyle = colourOf("--surface");
  seen.forEach((start) => {
    const at = u.valToPos(start, "x", true);
    u.ctx.fillRect(Math.round(at) - 1, u.bbox.top, devicePixelRatio, u.bbox.height);
  });
}

const paths = uPlot.paths.stepped?.({ align: 1, alignGaps: 1 });

function seriesOf(account: Account): uPlot.Series {
  return { fill: (u) => canvasFill(u.ctx, account), width: 0, points: { show: false }, paths };
}

function sentence(bars: Bars, index: number): string {
  const parts = bars.accounts
    .map((account, each) => ({ account, ms: bars.ms[each]?.[index] ?? 0 }))
    .filter((each) => each.ms > 0)
    .map((each) => `${each.account.name} ${format(each.ms, "step_ms")}`);
  const count = bars.count[index] ?? 1;
  const first = bars.number[index];
  const name = count > 1 ? `${count} steps from ${first}` : `step ${first ?? "?"}`;
  const total = bars.sums[bars.sums.length - 1]?.[index] ?? 0;
  const when = moment(bars.start[index] ?? 0, 50);
  return `${name} at ${when}: ${format(total, "step_ms")} = ${parts.join(" + ")}`;
}

function legend(bars: Bars): HTMLElement {
  const seen = bars.accounts.filter((_, index) => bars.ms[index]?.some((each) => each > 0));
  return h(
    "ul",
    "legend flat",
    ...seen.map((account) => h("li", {}, swatch(account), account.name)),
  );
}

// Of a long run not every step was read.
function caption(bars: Bars, all: Ref): string {
  const shown = bars.count.reduce<number>((sum, each) => sum + (each ?? 1), 0);
  return all.number !== null && shown < all.number - 3
    ? `Each step that was read in full: ${format(shown, "count")} of ${format(all.number, "count")}`
    : "Each step";
}

const hint = "point at a step to read it; drag to come closer";

export function stepChart(accounting: Ref<Report["accounting"]>, all: Ref, range: TimeRange): HTMLElement | null {
  const bars = barsOf(accounting);
  if (bars.start.length === 0) {
    return null;
  }
  const total = bars.sums[bars.sums.length - 1] ?? [];
  const highest = total.reduce((most, each) => Math.max(most, each), 0);
  const label = `each step's time by account: ${total.length} bars, the highest ${format(highest, "step_ms")}`;
  const into = h("div", {
    class: "chart with-times",
    attributes: { role: "img", "aria-label": label },
  });
  const readout = h("output", "readout", hint);
  const setCursor = (u: uPlot) => {
    const left = u.cursor.left ?? -1;
    const index = firstAfter(bars.start, u.posToVal(left, "x")) - 1;
    readout.textContent = left < 0 || index < 0 ? hint : sentence(bars, index);
  };
  queueMicrotask(() => {
    const u = makeChart(
      into,
      {
        height: 220,
        unit: "step_ms",
        data: dataOf(bars, leastOf(range.view)) as uPlot.AlignedData,
        series: [...bars.accounts].reverse().map(seriesOf),
        hasTimes: true,
        hooks: { draw: [(u: uPlot) => separate(u, bars)], setCursor: [setCursor] },
      },
      range,
    );
    range.follow((view) => u.setData(dataOf(bars, leastOf(view)) as uPlot.AlignedData, false));
  });
  return h(
    "figure",
    "steps-chart",
    h("figcaption", {}, caption(bars, all), legend(bars)),
    into,
    readout,
  );
}
