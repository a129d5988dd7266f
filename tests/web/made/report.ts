// Documents of runs that never were: chokepoint.report/1, small, an hour long, hostile, or empty.
import { accountIds, accountMs, diagnosis } from "./diagnosis";
import { communicating, lanes, steps } from "./lanes";
import { flows, hosts, matrix, paths, probes } from "./network";
import { Random } from "./random";
import type { Shape } from "./shape";
import { coarseEdges, edges, tracks } from "./tracks";

function accounting(shape: Shape, random: Random): object {
  const { start_s, count } = steps(shape);
  const total = accountMs(shape);
  return {
    accounts: accountIds,
    total_ms_per_step: total,
    steps: {
      number: start_s.map((_, index) => index + 3),
      start_s,
      count,
      ms: total.map((mean) => start_s.map(() => random.rounded(mean, mean / 6))),
    },
    source: shape.text("collectives and flow samples of all nodes"),
  };
}

function timeline(shape: Shape, random: Random): object {
  return {
    origin: "2026-11-21T10:02:03.250Z",
    start_s: 0,
    end_s: shape.seconds,
    nodes: shape.nodes.map((name, rank) => ({
      name: shape.text(name),
      ranks: [rank],
      clock: { source: "packets", error_ms: 0.02 },
    })),
    axes: [{ edges_s: edges(shape) }, { edges_s: coarseEdges(shape) }],
    tracks: tracks(shape, random),
    steps: steps(shape),
    lanes: lanes(shape, random),
    communicating: communicating(shape, random),
    windows:
      shape.seconds > 600
        ? [
            { start_s: 300, end_s: 330 },
            { start_s: 2000, end_s: 2030 },
          ]
        : [],
    remarks: [shape.text("8 tracks of flows that moved little are left out")],
  };
}

function moments({ seconds, nodes, text }: Shape): object[] {
  return [
    {
      start_s: seconds * 0.31,
      end_s: seconds * 0.36,
      node: text(nodes[0] ?? ""),
      kind: "evidence",
      what: text("the link was full"),
      detail: text("982 Mb/s for a second"),
      source: "flow samples",
    },
    {
      start_s: seconds * 0.5,
      end_s: null,
      node: null,
      kind: "event",
      what: text("checkpoint written"),
      detail: null,
      source: text("output of rank 0"),
    },
    {
      start_s: seconds * 0.72,
      end_s: null,
      node: nodes[1] ?? null,
      kind: "event",
      what: text("eth0 went down"),
      detail: null,
      source: "netlink",
    },
  ];
}

function head(shape: Shape): object {
  return {
    host: shape.text("vm"),
    started_at: "2026-11-22T06:51:14.871Z",
    command: shape.text("torchrun --nnodes 2 train.py"),
    labels: { parallelism: shape.text("DP"), setup: "2x1" },
  };
}

function summary(shape: Shape): object {
  return {
    ...head(shape),
    schema: "chokepoint.run/1",
    exit_status: 0,
    nodes: shape.nodes.map((name) => ({ name: shape.text(name) })),
    duration_s: shape.seconds,
    steps: { count: 68, median_ms: shape.stepMs, p99_ms: shape.stepMs * 1.1, source: "output" },
    volume: { sent_bytes: 2.3e9, received_bytes: 2.29e9, network_mbps_full_duplex: 1904.94, network_mbps: 952.47 },
  };
}

export function report(shape: Shape): object {
  const random = new Random(shape.seed);
  return {
    schema: "chokepoint.report/1",
    host: shape.text("vm"),
    started_at: "2026-11-22T06:51:14.871Z",
    run: shape.text("runs/a"),
    program: "0.1.0",
    summary: summary(shape),
    diagnosis: diagnosis(shape, head(shape)),
    accounting: accounting(shape, random),
    timeline: timeline(shape, random),
    moments: moments(shape),
    flows: flows(shape, random),
    matrix: matrix(shape, random),
    hosts: hosts(shape),
    paths: paths(shape),
    probes: probes(shape),
    missing: [
      shape.text("GPUs of right: no NVIDIA driver on this host"),
      shape.text("clock of n3: no packet that both ends saw"),
    ],
  };
}

// A run of which hardly anything is known.
export function empty(): object {
  return {
    schema: "chokepoint.report/1",
    host: "vm",
    started_at: "2026-11-22T06:51:14.871Z",
    run: "runs/empty",
    program: "0.1.0",
    summary: {
      command: null,
      labels: {},
      nodes: [{ name: "alone" }],
      duration_s: null,
      steps: { count: null, median_ms: null },
      volume: {},
    },
    diagnosis: {
      steps: {},
      accounting_ms_per_step: null,
      verdict: {
        class: "unknown",
        cause: null,
        sentence: "no steps were seen, and no traffic",
        lost_ms_per_step: null,
        share_percent: null,
        confidence: 0,
        evidence: [],
        disproof: null,
        advice: [],
        commands: [],
      },
      others: [],
    },
    accounting: null,
    timeline: {
      origin: null,
      start_s: 0,
      end_s: 0,
      nodes: [{ name: "alone", ranks: [], clock: null }],
      axes: [],
      tracks: [],
      steps: null,
      lanes: [],
      communicating: null,
      windows: [],
      remarks: [],
    },
    moments: [],
    flows: [],
    matrix: { names: [], bytes: [], throughput_mbps: [], source: null },
    hosts: [
      {
        name: "alone",
        host: null,
        kernel: null,
        distribution: null,
        cpu: null,
        interfaces: [],
        gpus: [],
        facts: [],
        doctor: null,
      },
    ],
    paths: [],
    probes: [],
    missing: ["everything: nothing was recorded"],
  };
}
