// What each rank of a made run was doing when.
import type { Random } from "./random";
import type { Shape } from "./shape";

interface Spans {
  readonly start_s: number[];
  readonly end_s: number[];
}

const rounded = (value: number) => Number(value.toFixed(4));

export function steps(
  shape: Shape,
): Spans & { count: number[]; settled: boolean[]; shown: number; all: number; source: string } {
  const width = shape.seconds / shape.bars;
  const start_s = Array.from({ length: shape.bars }, (_, index) => rounded(index * width));
  return {
    source: "output",
    start_s,
    end_s: start_s.map((start) => rounded(start + width * 0.99)),
    count: start_s.map(() => Math.max(1, Math.round((width * 1e3) / shape.stepMs))),
    settled: start_s.map((_, index) => index > 1),
    shown: shape.bars,
    all: shape.bars,
  };
}

// A part of each step, from `from` to `to` of it.
function within(all: Spans, from: number, to: number, random: Random): Spans {
  const spans = all.start_s.map((start, index) => {
    const width = (all.end_s[index] ?? start) - start;
    const shift = random.around(0, 0.02) * width;
    return [rounded(start + from * width + shift), rounded(start + to * width + shift)] as const;
  });
  return { start_s: spans.map(([start]) => start), end_s: spans.map(([, end]) => end) };
}

export function lanes(shape: Shape, random: Random): object[] {
  const all = steps(shape);
  const kinds: [string, number, number][] = [
    ["computing", 0, 0.3],
    ["waiting", 0.3, 0.38],
    ["collectives", 0.38, 0.97],
  ];
  return shape.nodes.flatMap((node, rank) =>
    kinds.map(([kind, from, to]) => ({
      ...within(all, from, to, random),
      node: shape.text(node),
      rank,
      kind,
      names: [shape.text("all-reduce"), "broadcast"],
      name: all.start_s.map((_, index) =>
        kind === "collectives" ? Number(index % 9 === 8) : null,
      ),
      bytes: all.start_s.map(() => (kind === "collectives" ? 4_000_000 : null)),
      shown: all.start_s.length,
      all: all.start_s.length,
      source: shape.text(`packets of ${node}`),
    })),
  );
}

export function communicating(shape: Shape, random: Random): Spans {
  return within(steps(shape), 0.38, 0.97, random);
}
