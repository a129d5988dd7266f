// Which tracks share a chart: those of one group, unit and name; a line is a node, an interface of
// it, or one way of a flow. Pure.
import type { Ref } from "../document/ref";

export interface Track {
  readonly index: number;
  readonly group: string;
  readonly node: string;
  readonly flow: number | null;
  readonly name: string;
  readonly subject: string;
  readonly direction: string;
  readonly unit: string;
  readonly axis: number;
  readonly values: (number | null)[];
  readonly source: string;
}

export interface Panel {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly unit: string;
  readonly isOfFlows: boolean;
  readonly tracks: readonly Track[];
}

const groupNames: Record<string, string> = {
  throughput: "Throughput",
  nic: "Interfaces",
  retransmissions: "Retransmissions",
  rtt: "Round trip",
  cwnd: "Congestion window",
  window: "Receive window",
  queue: "Queues",
  cpu: "Processors",
  softirq: "Softirq",
  input: "Input",
  storage: "Storage",
  pressure: "Pressure",
  memory: "Memory",
  pcie: "PCIe",
  gpu: "GPU",
  "gpu-clock": "GPU clock",
  rdma: "RDMA",
};

export const groupName = (group: string): string => groupNames[group] ?? group;

export function trackOf(ref: Ref, index: number): Track {
  const text = (key: string) => ref.at(key).text ?? "";
  return {
    index,
    group: text("group"),
    node: text("node"),
    flow: ref.at("flow").number,
    name: text("name"),
    subject: text("subject"),
    direction: text("direction"),
    unit: text("unit"),
    axis: ref.at("axis").number ?? 0,
    values: ref.at("values").numbers,
    source: text("source"),
  };
}

const rank = (group: string): number => {
  const place = Object.keys(groupNames).indexOf(group);
  return place < 0 ? Object.keys(groupNames).length : place;
};

export function panelsOf(tracks: readonly Track[]): Panel[] {
  const byId = new Map<string, Track[]>();
  for (const track of tracks) {
    const kind = track.flow === null ? "node" : "flow";
    const id = [track.group, kind, track.name, track.unit].join("/");
    byId.set(id, [...(byId.get(id) ?? []), track]);
  }
  return [...byId.entries()]
    .map(([id, of]) => panelOf(id, of))
    .sort((left, right) => rank(left.group) - rank(right.group) || order(left, right));
}

// Sums over a node before single flows.
const order = (left: Panel, right: Panel): number =>
  Number(left.isOfFlows) - Number(right.isOfFlows);

function panelOf(id: string, tracks: readonly Track[]): Panel {
  const first = tracks[0] as Track;
  return {
    id,
    group: first.group,
    title: first.name || groupName(first.group),
    unit: first.unit,
    isOfFlows: first.flow !== null,
    tracks,
  };
}

// Groups in order, each with its panels.
export function grouped(panels: readonly Panel[]): [string, Panel[]][] {
  const groups = new Map<string, Panel[]>();
  for (const panel of panels) {
    groups.set(panel.group, [...(groups.get(panel.group) ?? []), panel]);
  }
  return [...groups.entries()];
}
