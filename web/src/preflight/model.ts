// The mesh of a preflight's document: hosts, and what each way between two of them has. A thousand
// hosts have a million ways, so figures stay in the lists that the document has. Pure.
import type { Preflight } from "../document/documents";
import type { Ref } from "../document/ref";
import type { Metric } from "./metrics";

export interface WayPlace {
  readonly from: number;
  readonly to: number;
}

type List = readonly unknown[] | number | null;

const sides = ["there", "back"] as const;

// A list, or one number that all of them have; what else a document may say there is unknown.
function listAt(ref: Ref): List {
  const { value } = ref;
  return Array.isArray(value) || typeof value === "number" ? (value as List) : null;
}

function numberAt(list: List | undefined, index: number): number | null {
  const value = Array.isArray(list) ? (list[index] as unknown) : list;
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export class Mesh {
  readonly hosts: readonly Ref[];
  readonly names: readonly string[];
  readonly shown: readonly number[]; // hosts that any pair has
  private readonly places: Int32Array;
  private readonly lists = new Map<string, List>();

  constructor(readonly document: Ref<Preflight>) {
    this.hosts = document.at("hosts").items;
    this.names = this.hosts.map((host, index) => host.at("name").text ?? `host ${index + 1}`);
    this.places = new Int32Array(this.hosts.length ** 2).fill(-1);
    const has = new Set<number>();
    const b = document.at("pairs", "b").numbers;
    document
      .at("pairs", "a")
      .numbers.forEach((from, index) => this.place(from, b[index] ?? null, index, has));
    this.shown = this.hosts.map((_, index) => index).filter((index) => has.has(index));
  }

  get pairs(): Ref {
    return this.document.at("pairs");
  }

  // Where in the lists of pairs this one stands; -1 where it was not tested.
  pairOf(from: number, to: number): number {
    const place = this.places[from * this.hosts.length + to];
    return place === undefined ? -1 : place;
  }

  // Of a way: its own figure, or that of its pair.
  figure(from: number, to: number, name: string, isOfPair: boolean): Ref {
    const at = this.pairOf(from, to);
    const lists = isOfPair ? this.pairs : this.pairs.at(sides[from < to ? 0 : 1]);
    const list = lists.at(name);
    return Array.isArray(list.value) ? list.at(at) : list;
  }

  value(metric: Metric, from: number, to: number): number | null {
    const at = this.pairOf(from, to);
    return at < 0 ? null : numberAt(this.listOf(metric, from < to ? 0 : 1), at);
  }

  // All that is known of a metric, in no order.
  values(metric: Metric): number[] {
    const found: number[] = [];
    const count = this.pairs.at("count").number ?? 0;
    for (const side of metric.isOfPair ? [0] : [0, 1]) {
      const list = this.listOf(metric, side);
      for (let index = 0; index < count; ++index) {
        const value = numberAt(list, index);
        if (value !== null) {
          found.push(value);
        }
      }
    }
    return found;
  }

  private listOf(metric: Metric, side: number): List {
    const key = `${metric.isOfPair ? "" : side}${metric.column}`;
    if (!this.lists.has(key)) {
      const lists = metric.isOfPair ? this.pairs : this.pairs.at(sides[side] ?? "there");
      this.lists.set(key, listAt(lists.at(metric.column)));
    }
    return this.lists.get(key) ?? null;
  }

  private place(a: number | null, b: number | null, index: number, has: Set<number>): void {
    const count = this.hosts.length;
    if (a === null || b === null || !(a >= 0 && a < count && b >= 0 && b < count)) {
      return;
    }
    this.places[a * count + b] = index;
    this.places[b * count + a] = index;
    has.add(a).add(b);
  }
}
