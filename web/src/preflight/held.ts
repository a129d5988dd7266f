// Which ways a finding is about, and which findings are about a way. Pure.
import type { Ref } from "../document/ref";
import type { Mesh, WayPlace } from "./model";

export interface Held {
  readonly hosts: ReadonlySet<number>;
  readonly ways: ReadonlySet<number>; // from * hosts + to
  readonly hasWays: boolean;
}

export function heldBy(mesh: Mesh, finding: Ref): Held {
  const ways = new Set<number>();
  for (const way of finding.at("ways").items) {
    const [from, to] = way.numbers;
    if (typeof from === "number" && typeof to === "number") {
      ways.add(from * mesh.hosts.length + to);
    }
  }
  const hosts = new Set(finding.at("hosts").numbers.filter((each) => each !== null));
  return { hosts, ways, hasWays: ways.size > 0 };
}

// Without ways of its own a finding is about all ways of its hosts.
export function holds(mesh: Mesh, held: Held, { from, to }: WayPlace): boolean {
  return held.hasWays
    ? held.ways.has(from * mesh.hosts.length + to)
    : held.hosts.has(from) || held.hosts.has(to);
}
