// Columns of a chart from tracks. A value holds from one edge of its bin to the next. Pure.

export type Column = (number | null | undefined)[];

// One x for each edge; the last value is drawn up to the last edge.
export function stepped(
  edges: readonly number[],
  values: readonly (number | null)[],
): [number[], Column] {
  const count = Math.min(values.length, edges.length - 1);
  if (count <= 0) {
    return [[], []];
  }
  const x = edges.slice(0, count + 1) as number[];
  return [x, [...values.slice(0, count), values[count - 1] ?? null]];
}

// The value of the bin that a moment lies in.
export function valueAt(
  edges: readonly number[],
  values: readonly (number | null)[],
  at: number,
): number | null {
  const after = firstAfter(edges, at);
  return after === 0 || after >= edges.length ? null : (values[after - 1] ?? null);
}

// Index of the first that is greater.
export function firstAfter(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

export interface Extremes {
  readonly peak: number;
  readonly at: number;
  readonly mean: number;
}

// The mean is over time, where the value is known.
export function extremesOf(
  edges: readonly number[],
  values: readonly (number | null)[],
): Extremes | null {
  let peak = -Infinity;
  let at = 0;
  let area = 0;
  let known = 0;
  values.forEach((value, index) => {
    const from = edges[index];
    const to = edges[index + 1];
    if (value === null || from === undefined || to === undefined) {
      return;
    }
    area += value * (to - from);
    known += to - from;
    if (value > peak) {
      [peak, at] = [value, from];
    }
  });
  return known > 0 ? { peak, at, mean: area / known } : null;
}
