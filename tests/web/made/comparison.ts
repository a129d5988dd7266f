// A comparison as chokepoint.comparison/1 has it: two setups, three kinds of parallelism, five runs of
// each, and one row without figures.
import { accountIds } from "./diagnosis";
import { Random } from "./random";

const figures = [
  { key: "samples_per_s", title: "sample throughput", unit: "per_s", better: "more" },
  { key: "scaling_factor", title: "scaling factor", unit: "factor", better: "more" },
  { key: "network_mbps", title: "network throughput", unit: "mbps", better: null },
  { key: "volume_bytes", title: "network volume", unit: "bytes", better: null },
  { key: "step_ms", title: "step", unit: "ms", better: "less" },
];

const means: Record<string, number> = {
  samples_per_s: 6730,
  scaling_factor: 0.113,
  network_mbps: 1630,
  volume_bytes: 2.251e11,
  step_ms: 281,
};

type Text = (plain: string) => string;

function estimates(random: Random): Record<string, object> {
  return Object.fromEntries(
    Object.entries(means).map(([key, mean]) => {
      const value = random.rounded(mean, mean / 3, 4);
      return [
        key,
        {
          mean: value,
          sd: value / 20,
          low: value * 0.95,
          high: value * 1.05,
          min: value * 0.9,
          max: value * 1.1,
          count: 5,
        },
      ];
    }),
  );
}

const accounting = (random: Random) =>
  Object.fromEntries(accountIds.map((id) => [id, random.rounded(25, 20)]));

function difference(percent: number, text: Text): object {
  return {
    baseline: 0,
    before: 281,
    after: 281 * (1 + percent / 100),
    change_percent: percent,
    low_percent: percent - 3,
    high_percent: percent + 3,
    test: "mann-whitney",
    p: 0.008,
    p_corrected: 0.02,
    why_no_test: null,
    is_beyond_noise: Math.abs(percent) > 1,
    is_worse: Math.abs(percent) > 1 ? percent > 0 : null,
    causes: [{ account: "loss", words: "loss", ms_per_step: 77, share_percent: 100 }],
    sentence: text(`step differs by ${percent} %: more loss`),
  };
}

export function comparison(text: Text = (plain) => plain): object {
  const random = new Random(3);
  const changes = [0, 18.2, -7.1, 0.4, 33, -1.5];
  const rows = ["1x2", "2x1"].flatMap((setup) =>
    ["DP", "TP", "PP"].map((parallelism) => ({ setup, parallelism })),
  );
  const groups = rows.map(({ setup, parallelism }, index) => ({
    name: text(`${setup} ${parallelism}`),
    keys: { setup: text(setup), parallelism: text(parallelism) },
    runs: [index],
    gpus: 2,
    figures: estimates(random),
    scaling_reference: null,
    accounting_ms_per_step: accounting(random),
    verdict: { class: "lan-bandwidth", lost_ms_per_step: 120.5, classes: { "lan-bandwidth": 5 } },
    is_baseline: index === 0,
    difference: index === 0 ? null : difference(changes[index] ?? 0, text),
  }));
  const nothing = {
    name: text("4x1 DP"),
    keys: { setup: "4x1", parallelism: null },
    runs: [],
    gpus: null,
    figures: {},
    scaling_reference: null,
    accounting_ms_per_step: null,
    verdict: { class: "unknown", lost_ms_per_step: null, classes: {} },
    is_baseline: false,
    difference: null,
  };
  return {
    schema: "chokepoint.comparison/1",
    host: "vm",
    started_at: "2026-11-22T07:34:16.263Z",
    by: ["setup", "parallelism"],
    metric: "step_ms",
    shown: [
      "runs",
      "samples_per_s",
      "scaling_factor",
      "network_mbps",
      "volume_bytes",
      "step_ms",
      "change",
      "verdict",
    ],
    confidence: 0.95,
    least_percent: 1,
    unit: "tokens",
    figures,
    groups: [...groups, nothing],
    runs: groups.map((group, index) => ({
      path: text(`runs/${index}`),
      folder: text("runs"),
      group: index,
      labels: {},
      command: text("torchrun train.py"),
      nodes: ["a", "b"],
      gpus: 2,
      steps: { count: 66, source: "output" },
      figures: { step_ms: { value: 281.5, from: text("as diagnosed") }, samples_per_s: null },
      verdict: {
        class: "lan-bandwidth",
        cause: null,
        sentence: text(`the link of ${group.name} is full`),
      },
      remarks: [text("not watched to the end")],
    })),
    regressions: [1, 4],
    left_out: [{ path: text("runs/broken"), reason: text("no run record") }],
    remarks: [text("rows of one run each are compared by their steps alone")],
  };
}
