// What the map can be coloured by, and which values stand out: five grades from well to bad. Pure.
import { format } from "../format/units";
import type { Mesh } from "./model";

export const grades = 5;

export interface Metric {
  readonly key: string;
  readonly title: string;
  readonly column: string; // in the document
  readonly isOfPair: boolean; // the same both ways
  readonly unit: string;
  readonly rule: Rule;
}

export interface Scale {
  readonly grade: (value: number) => number;
  readonly labels: readonly string[]; // of each grade, from well to bad; "" where it has none
}

type Rule = (mesh: Mesh, metric: Metric) => Scale;

const gradeAbove = (value: number, bounds: readonly number[]): number => {
  const at = bounds.findIndex((bound) => value >= bound);
  return at < 0 ? bounds.length : at;
};
const gradeBelow = (value: number, bounds: readonly number[]): number => {
  const at = bounds.findIndex((bound) => value <= bound);
  return at < 0 ? bounds.length : at;
};

const shares = [0.8, 0.65, 0.5, 0.25];

// The more the better, against what there should be.
function high(whole: number, name: string): Scale {
  const text = (share: number) => `${Math.round(share * 100)} %`;
  return {
    grade: (value) => (whole > 0 ? gradeAbove(value / whole, shares) : 0),
    labels: [
      `${text(0.8)} of ${name} and more`,
      ...shares.slice(1).map((share, at) => `${text(share)} to ${text(shares[at] ?? 1)}`),
      `less than ${text(0.25)}`,
    ],
  };
}

function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function median(values: number[]): number {
  values.sort((left, right) => left - right);
  return values[Math.floor(values.length / 2)] ?? 0;
}

const ofExpected: Rule = (mesh) => high(1, expectedName(mesh));

const ofFastest: Rule = (mesh, metric) => high(largest(mesh.values(metric)), "the fastest");

const ofLargest: Rule = (mesh, metric) => {
  const most = largest(mesh.values(metric));
  return {
    grade: (value) => (value >= most ? 0 : value >= most / 2 ? 2 : 3),
    labels: [
      most > 0 ? format(most, "count") : "",
      "",
      "less than that",
      "less than half of that",
      "",
    ],
  };
};

const byMedian: Rule = (mesh, metric) => {
  const middle = median(mesh.values(metric));
  const bounds = [1.5, 2, 4, 10];
  return {
    grade: (value) => (middle > 0 ? gradeBelow(value / middle, bounds) : 0),
    labels: [
      `up to 1.5 times the median, ${format(middle, metric.unit)}`,
      "to 2 times",
      "to 4 times",
      "to 10 times",
      "more",
    ],
  };
};

function below(bounds: readonly number[], unit: string): Rule {
  return () => ({
    grade: (value) => gradeBelow(Math.abs(value), bounds),
    labels: [
      bounds[0] === 0 ? "none" : `up to ${format(bounds[0] ?? 0, unit)}`,
      ...bounds.slice(1).map((bound) => `to ${format(bound, unit)}`),
      "more",
    ],
  });
}

export function expectedName(mesh: Mesh): string {
  return mesh.document.at("expected_from").text === "link speeds"
    ? "what both links give"
    : "the fastest path";
}

export const metrics: readonly Metric[] = [
  {
    key: "share",
    title: "Share of expected",
    column: "expected_share",
    isOfPair: false,
    unit: "share",
    rule: ofExpected,
  },
  {
    key: "tcp",
    title: "Throughput, beside others",
    column: "tcp_mbps",
    isOfPair: false,
    unit: "mbps",
    rule: ofFastest,
  },
  {
    key: "alone",
    title: "Throughput, alone",
    column: "alone_mbps",
    isOfPair: false,
    unit: "mbps",
    rule: ofFastest,
  },
  {
    key: "together",
    title: "Throughput, all at once",
    column: "together_mbps",
    isOfPair: false,
    unit: "mbps",
    rule: ofFastest,
  },
  {
    key: "loss",
    title: "Loss",
    column: "loss_percent",
    isOfPair: false,
    unit: "percent",
    rule: below([0, 0.01, 0.1, 1], "percent"),
  },
  {
    key: "rtt",
    title: "Round trip",
    column: "rtt_ms",
    isOfPair: true,
    unit: "ms",
    rule: byMedian,
  },
  {
    key: "mtu",
    title: "Largest packet",
    column: "mtu_bytes",
    isOfPair: false,
    unit: "count",
    rule: ofLargest,
  },
  {
    key: "clock",
    title: "Clock offset",
    column: "clock_offset_ms",
    isOfPair: true,
    unit: "ms",
    rule: below([0.1, 1, 10, 100], "ms"),
  },
  {
    key: "rdma",
    title: "RDMA",
    column: "rdma_mbps",
    isOfPair: false,
    unit: "mbps",
    rule: ofFastest,
  },
];

// Those that were measured anywhere.
export const knownMetrics = (mesh: Mesh): Metric[] =>
  metrics.filter((metric) => mesh.values(metric).length > 0);
