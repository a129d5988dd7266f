// A diagnosis that fits the made run, as chokepoint.diagnosis/1 has it.
import type { Shape } from "./shape";

export const accountIds = [
  "compute",
  "straggler",
  "link",
  "loss",
  "window",
  "library",
  "receiver_host",
  "sender_host",
  "pcie",
  "latency",
  "input",
  "storage",
  "other",
] as const;

const parts = [0.249, 0.042, 0.531, 0.061, 0.018, 0, 0.034, 0, 0.012, 0.02, 0, 0, 0.033];

export const accountMs = (shape: Shape): number[] => parts.map((part) => part * shape.stepMs);

function verdict({ nodes, stepMs, text }: Shape): object {
  const [a, b] = [nodes[0] ?? "", nodes[1] ?? nodes[0] ?? ""];
  return {
    class: "lan-bandwidth",
    cause: "line-rate",
    sentence: text(`the link between ${a} and ${b} (both directions) is full`),
    where: { from: a, to: b, direction: null, interface: null, node: null, rank: null },
    lost_ms_per_step: stepMs * 0.51,
    lost_low_ms: stepMs * 0.388,
    lost_high_ms: stepMs * 0.632,
    share_percent: 51.2345,
    confidence: 0.95,
    evidence: [
      {
        what: text("payload while data were under way"),
        value: 982.73,
        unit: "Mb/s",
        from: text(`flow samples of ${a}`),
      },
      {
        what: text("the interface's own speed"),
        value: 10000,
        unit: "Mb/s",
        from: `nic.speed_mbps of to-${b}`,
      },
      {
        what: text("unloaded round trip"),
        value: 0.003,
        unit: "ms",
        from: `socket samples of ${b}`,
      },
      { what: text("something that could not be read"), value: null, unit: null, from: null },
    ],
    disproof: text("'chokepoint probe tcp' between the two carries more than the job"),
    advice: [
      text(
        `estimate the gain from 10G between ${a} and ${b}: ` +
          "chokepoint predict --from runs/a --link 10G",
      ),
      text(
        `check on ${b} its port's speed: ethtool to-${a}; tc -s qdisc show dev to-${a}`,
      ),
    ],
    commands: [
      "chokepoint predict --from runs/a --link 10G",
      `ethtool to-${a}; tc -s qdisc show dev to-${a}`,
    ],
  };
}

function late({ nodes, stepMs, text }: Shape): object {
  return {
    class: "straggler",
    cause: "late-rank",
    sentence: text(`rank 0 on ${nodes[0]} arrives late, and the others wait for it`),
    where: { from: null, to: null, direction: null, interface: null, node: nodes[0], rank: 0 },
    lost_ms_per_step: stepMs * 0.042,
    lost_low_ms: stepMs * 0.0136,
    lost_high_ms: stepMs * 0.0704,
    share_percent: 4.2,
    confidence: 0.83,
    evidence: [
      {
        what: "arrived last at exchanges, later than the rank before it by",
        value: stepMs * 0.042,
        unit: "ms a step",
        from: "collectives of all nodes",
      },
    ],
    disproof: "with that rank on another host, another rank arrives late",
    advice: [text("check what delays rank 0: chokepoint doctor --all")],
    commands: ["chokepoint doctor --all"],
  };
}

// The second rank is late, and its data reach the first one.
function criticalPath({ nodes, stepMs, text }: Shape): object {
  const on = (rank: number) => ({ rank, node: text(nodes[rank] ?? "") });
  const part = (kind: string, rank: number, from: number, to: number, toRank: number | null) => ({
    kind,
    ...on(rank),
    to_rank: toRank,
    start_ms: from * stepMs,
    ms: (to - from) * stepMs,
  });
  return {
    step: 34,
    length_ms: stepMs,
    parts: [
      part("computing", 1, 0, 0.249, null),
      part("late", 1, 0.249, 0.3, null),
      part("transfer", 1, 0.3, 0.95, 0),
      part("overhead", 0, 0.95, 1, null),
    ],
  };
}

export function diagnosis(shape: Shape, head: object): object {
  return {
    ...head,
    schema: "chokepoint.diagnosis/1",
    nodes: shape.nodes,
    complete: true,
    steps: {
      count: 66,
      mean_ms: shape.stepMs,
      median_ms: shape.stepMs,
      p99_ms: shape.stepMs * 1.1,
      source: "output",
    },
    rounds: { sentence: shape.text("every 4 steps, 12.0 ms more each time") },
    accounting_ms_per_step: Object.fromEntries(
      accountIds.map((id, index) => [id, accountMs(shape)[index]]),
    ),
    critical_path: criticalPath(shape),
    verdict: verdict(shape),
    others: [late(shape)],
    ranks: shape.nodes.map((node, rank) => ({
      rank,
      node,
      computing_ms: 69.1,
      waiting_ms: rank ? 11.2 : 0,
    })),
    missing: [],
  };
}
