// Where the time of each step went: stacked bars on the timeline's own axis.
import uPlot from "uplot";
import { accountOf, type Account } from "../accounting/accounts";
import { canvasFill } from "../accounting/pattern";
import { swatch } from "../accounting/total_bar";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { moment } from "../format/times";
import { format } from "../format/units";
import { colourOf, makeChart } from "./chart";
import { firstAfter } from "./columns";
import type { TimeRange } from "./time_range";

interface Bars {
  readonly accounts: readonly Account[];
  readonly start: number[];
  readonly end: number[];
  readonly number: (number | null)[];
  readonly count: (number | null)[];
  readonly ms: number[][];
  readonly sums: number[][]; // over the accounts so far
}

function barsOf(accounting: Ref): Bars {
  const steps = accounting.at("steps");
  const start = steps.at("start_s").numbers.map((each) => each ?? NaN);
  const ms = steps.at("ms").items.map((each) => each.numbers.map((value) => value ?? 0));
  const count = steps.at("count").numbers;
  const sums: number[][] = [];
  for (const column of ms) {
    const below = sums[sums.length - 1];
    sums.push(column.map((value, index) => value + (below?.[index] ?? 0)));
  }
  const total = sums[sums.length - 1] ?? [];
  // A bar ends where its steps end, and never within the next one.
  const end = start.map((from, index) => {
    const own = from + ((total[index] ?? 0) * (count[index] ?? 1)) / 1e3;
    return Math.min(own, start[index + 1] ?? own);
  });
  const accounts = accounting.at("accounts").texts.map(accountOf);
  return { accounts, start, end, number: steps.at("number").numbers, count, ms, sums };
}

// A pause after a bar is no part of it.
const isPause = (bars: Bars, index: number): boolean => {
  const [start, end, next] = [bars.start[index] ?? 0, bars.end[index] ?? 0, bars.start[index + 1]];
  return next === undefined || next - end > 0.1 * (end - start);
};

// Each account's series is what it adds to those below it, so the highest is drawn first.
function dataOf(bars: Bars): uPlot.AlignedData {
  const pauses = bars.start.map((_, index) => isPause(bars, index));
  const x = bars.start.flatMap((start, index) => (pauses[index] ? [start, bars.end[index] ?? start] : [start]));
  const column = (sums: number[]) => sums.flatMap((sum, index) => (pauses[index] ? [sum, null] : [sum]));
  return [x, ...bars.sums.map(column).reverse()];
}

// Between bars that are wide enough to be told apart.
function separate(u: uPlot, bars: Bars): void {
  const { min, max } = u.scales.x as { min: number; max: number };
  const seen = bars.start.filter((start) => start >= min && start <= max);
  if (u.bbox.width / seen.length < 5 * devicePixelRatio) {
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

const hint = "point at a step to read it; drag to come closer";

export function stepChart(accounting: Ref, range: TimeRange): HTMLElement | null {
  const bars = barsOf(accounting);
  if (bars.start.length === 0) {
    return null;
  }
  const total = bars.sums[bars.sums.length - 1] ?? [];
  const highest = total.reduce((most, each) => Math.max(most, each), 0);
  const label = `each step's time by account: ${total.length} bars, the highest ${format(highest, "step_ms")}`;
  const into = h("div", { class: "chart with-times", attributes: { role: "img", "aria-label": label } });
  const readout = h("output", "readout", hint);
  const setCursor = (u: uPlot) => {
    const left = u.cursor.left ?? -1;
    const index = firstAfter(bars.start, u.posToVal(left, "x")) - 1;
    readout.textContent = left < 0 || index < 0 ? hint : sentence(bars, index);
  };
  queueMicrotask(() =>
    makeChart(
      into,
      {
        height: 220,
        unit: "step_ms",
        data: dataOf(bars),
        series: [...bars.accounts].reverse().map(seriesOf),
        hasTimes: true,
        hooks: { draw: [(u: uPlot) => separate(u, bars)], setCursor: [setCursor] },
      },
      range,
    ),
  );
  return h("figure", "steps-chart", h("figcaption", {}, "Each step", legend(bars)), into, readout);
}
