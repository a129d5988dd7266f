// The steps as stacked bars over time: what a chart needs of the document. Pure.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import type { Column } from "../timeline/columns";
import type { Span } from "../timeline/time_range";
import { accountOf, type Account } from "./accounts";

export interface Bars {
  readonly accounts: readonly Account[];
  readonly start: number[];
  readonly end: number[];
  readonly number: (number | null)[];
  readonly count: (number | null)[];
  readonly ms: number[][];
  readonly sums: number[][]; // over the accounts so far
}

export function barsOf(accounting: Ref<Report["accounting"]>): Bars {
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

// Where a bar ends that a pause follows; null where the next one joins it.
function endBeforePause(bars: Bars, index: number, least: number): number | null {
  const [start, own, next] = [bars.start[index] ?? 0, bars.end[index] ?? 0, bars.start[index + 1]];
  const end = Math.max(own, start + least);
  return next === undefined || next - end > 0.1 * (end - start) ? end : null;
}

// Each account's series is what it adds to those below it, so the highest is drawn first. No bar is
// narrower than `least`, so that a single one can be seen in a long run.
export function dataOf(bars: Bars, least: number): Column[] {
  const ends = bars.start.map((_, index) => endBeforePause(bars, index, least));
  const x = bars.start.flatMap((start, index) => [start, ends[index] ?? []].flat());
  const column = (sums: number[]) =>
    sums.flatMap((sum, index) => (typeof ends[index] === "number" ? [sum, null] : [sum]));
  return [x, ...bars.sums.map(column).reverse()];
}

export const leastOf = ({ from, to }: Span): number => ((to - from) / 800) * 1.5;
