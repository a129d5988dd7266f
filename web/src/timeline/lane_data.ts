// The rows of the lanes: what each rank was doing when. Pure.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";

export interface Lane {
  readonly label: string;
  readonly heading: string; // the rank, on the first of its rows
  readonly kind: string;
  readonly node: string;
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly names: readonly string[];
  readonly name: readonly (number | null)[];
  readonly bytes: readonly (number | null)[];
  readonly count: readonly (number | null)[];
  readonly all: number | null;
}

const numbers = (ref: Ref): number[] => ref.numbers.map((each) => each ?? NaN);

const bare = {
  heading: "",
  node: "",
  names: [],
  name: [],
  bytes: [],
  count: [],
  all: null,
} as const;

function spans(ref: Ref): { start: number[]; end: number[] } {
  return { start: numbers(ref.at("start_s")), end: numbers(ref.at("end_s")) };
}

function ofRank(ref: Ref): Lane {
  const kind = ref.at("kind").text ?? "";
  const rank = ref.at("rank").number;
  const node = ref.at("node").text ?? "";
  return {
    ...spans(ref),
    label: kind,
    heading: rank === null ? node : `${node} · rank ${rank}`,
    kind,
    node,
    names: ref.at("names").texts,
    name: ref.at("name").numbers,
    bytes: ref.at("bytes").numbers,
    count: ref.at("count").numbers,
    all: ref.at("all").number,
  };
}

function windowLane(timeline: Ref<Report["timeline"]>): Lane[] {
  const windows = timeline.at("windows").items;
  const start = windows.map((each) => each.at("start_s").number ?? NaN);
  const end = windows.map((each) => each.at("end_s").number ?? NaN);
  return windows.length > 0 ? [{ ...bare, label: "full detail", kind: "windows", start, end }] : [];
}

export function lanesOf(timeline: Ref<Report["timeline"]>, isShown: (node: string) => boolean): Lane[] {
  const steps = timeline.at("steps");
  const communicating = timeline.at("communicating");
  const run: Lane[] = [
    ...windowLane(timeline),
    {
      ...bare,
      ...spans(steps),
      label: "steps",
      heading: "the job",
      kind: "steps",
      count: steps.at("count").numbers,
      all: steps.at("all").number,
    },
    { ...bare, ...spans(communicating), label: "communicating", kind: "communicating" },
  ];
  const ranks = timeline
    .at("lanes")
    .items.map(ofRank)
    .filter((lane) => isShown(lane.node));
  return [...run.filter((lane) => lane.start.length > 0), ...oneHeading(ranks)];
}

// Rows of the same rank stand together under one heading.
function oneHeading(lanes: readonly Lane[]): Lane[] {
  const order = [...new Set(lanes.map((lane) => lane.heading))];
  const sorted = order.flatMap((heading) => lanes.filter((lane) => lane.heading === heading));
  return sorted.map((lane, index) =>
    sorted[index - 1]?.heading === lane.heading ? { ...lane, heading: "" } : lane,
  );
}

// The span that holds a moment, of spans in order of their starts.
export function spanAt(lane: Lane, at: number): number | null {
  let low = 0;
  let high = lane.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.start[middle] as number) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (let index = low - 1; index >= Math.max(low - 8, 0); --index) {
    if ((lane.end[index] as number) >= at) {
      return index;
    }
  }
  return null;
}

// How much of the time its spans cover, for who cannot see them.
export function covered(lane: Lane): number {
  return lane.start.reduce(
    (sum, start, index) => sum + ((lane.end[index] ?? start) - start || 0),
    0,
  );
}
