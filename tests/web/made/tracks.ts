// Tracks of a made run: for each node and each flow, over a common axis.
import type { Random } from "./random";
import type { Shape } from "./shape";

interface Kind {
  readonly group: string;
  readonly name: string;
  readonly unit: string;
  readonly mean: number;
  readonly spread: number;
}

const ofNodes: Kind[] = [
  { group: "throughput", name: "sent", unit: "mbps", mean: 910, spread: 260 },
  { group: "throughput", name: "received", unit: "mbps", mean: 880, spread: 240 },
  { group: "retransmissions", name: "retransmitted", unit: "packets", mean: 1, spread: 9 },
  { group: "rtt", name: "median over flows", unit: "ms", mean: 4.5, spread: 2 },
  { group: "cpu", name: "busy", unit: "percent", mean: 64, spread: 20 },
  { group: "cpu", name: "fullest core", unit: "percent", mean: 92, spread: 8 },
  { group: "softirq", name: "fullest core", unit: "percent", mean: 7, spread: 4 },
  { group: "pressure", name: "waiting for a processor", unit: "percent", mean: 3, spread: 3 },
  { group: "memory", name: "available", unit: "bytes", mean: 2.1e10, spread: 1e9 },
  { group: "pcie", name: "card", unit: "mbps", mean: 920, spread: 250 },
  { group: "gpu", name: "utilization", unit: "percent", mean: 71, spread: 25 },
  { group: "gpu", name: "memory", unit: "bytes", mean: 1.2e10, spread: 4e8 },
];

const ofFlows: Kind[] = [
  { group: "throughput", name: "payload", unit: "mbps", mean: 220, spread: 90 },
  { group: "rtt", name: "smoothed", unit: "ms", mean: 4.1, spread: 2 },
  { group: "cwnd", name: "congestion window", unit: "bytes", mean: 1.4e6, spread: 4e5 },
  { group: "window", name: "peer's window", unit: "bytes", mean: 3.1e6, spread: 1e5 },
];

// A hole now and then: not everything is seen all the time.
const values = (kind: Kind, count: number, random: Random): (number | null)[] =>
  Array.from({ length: count }, () =>
    random.next() < 0.01 ? null : random.rounded(kind.mean, kind.spread, kind.mean < 1000 ? 1 : 0),
  );

export function edges(shape: Shape): number[] {
  const width = shape.seconds / shape.bins;
  return Array.from({ length: shape.bins + 1 }, (_, index) => Number((index * width).toFixed(4)));
}

// Flows are seen more coarsely, over an axis of their own.
export function coarseEdges(shape: Shape): number[] {
  const count = Math.max(4, Math.round(shape.bins / 5));
  return Array.from({ length: count + 1 }, (_, index) =>
    Number(((index * shape.seconds) / count).toFixed(4)),
  );
}

export function tracks(shape: Shape, random: Random): object[] {
  const flowBins = coarseEdges(shape).length - 1;
  const nodes = shape.nodes.flatMap((node) =>
    ofNodes.map((kind) => ({
      group: kind.group,
      node: shape.text(node),
      flow: null,
      name: kind.name,
      subject: kind.group === "throughput" ? shape.text("eth0") : null,
      direction: null,
      unit: kind.unit,
      axis: 0,
      values: values(kind, shape.bins, random),
      source: shape.text(`counter ${kind.group} of ${node}`),
    })),
  );
  const flows = Array.from({ length: shape.flows }, (_, flow) =>
    ofFlows.map((kind, index) => ({
      group: kind.group,
      node: shape.nodes[flow % shape.nodes.length],
      flow,
      name: kind.name,
      subject: null,
      direction: index % 2 === 0 ? "a_to_b" : "b_to_a",
      unit: kind.unit,
      axis: 1,
      values: values(kind, flowBins, random),
      source: "socket samples",
    })),
  ).flat();
  return [...nodes, ...flows];
}
