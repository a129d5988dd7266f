// What of the page is pure: how numbers read, the order of rows, which charts there are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf, dataOf } from "../../web/src/accounting/step_bars";
import { Ref } from "../../web/src/document/ref";
import { date, moment } from "../../web/src/format/times";
import { exact, format } from "../../web/src/format/units";
import { listed, shareInWords } from "../../web/src/format/words";
import { clusterOf, groupsOf } from "../../web/src/comparison/model";
import { compare, matches, ordered } from "../../web/src/table/order";
import { extremesOf, firstAfter, stepped, valueAt } from "../../web/src/timeline/columns";
import { looksOf } from "../../web/src/timeline/colours";
import { lanesOf, spanAt } from "../../web/src/timeline/lane_data";
import { grouped, panelsOf, trackOf } from "../../web/src/timeline/panels";
import { TimeRange } from "../../web/src/timeline/time_range";
import { parse, toReport, toSubject } from "../../web/src/fleet/address";
import { gradeOf } from "../../web/src/fleet/map";
import { compareCommand, percentText, shellWord, shortDate } from "../../web/src/fleet/words";

test("numbers read as people say them", () => {
  const read: [number, string, string][] = [
    [1823.4, "mbps", "1.82 Gb/s"],
    [0.25, "mbps", "250 kb/s"],
    [982.73, "Mb/s", "983 Mb/s"],
    [999.7, "mbps", "1.00 Gb/s"],
    [0, "mbps", "0 Mb/s"],
    [1.17e12, "bytes", "1.17 TB"],
    [0, "bytes", "0 B"],
    [9.2, "ms", "9.20 ms"],
    [0.003, "ms", "3.00 µs"],
    [1500, "ms", "1.50 s"],
    [1500, "step_ms", "1,500 ms"],
    [20.719, "ms a step", "20.7 ms a step"],
    [19.3, "s", "19.3 s"],
    [3600, "s", "1 h 0 min"],
    [754, "s", "12 min 34 s"],
    [65.1, "percent", "65 %"],
    [0.0123, "%", "0.012 %"],
    [0.95, "share", "95 %"],
    [776022, "packets", "776,022"],
    [-12.5, "ms", "-12.5 ms"],
    [8, "gts", "8 GT/s"],
    [16, "lanes", "x16"],
    [7, "bananas", "7.00 bananas"],
  ];
  read.forEach(([value, unit, text]) => assert.equal(format(value, unit), text));
  assert.equal(exact(982.734567, "mbps"), "982.734567 mbps");
});

test("moments are as fine as what is in view", () => {
  assert.equal(moment(12.3456, 0.05), "12.3456 s");
  assert.equal(moment(12.3456, 20), "12.3 s");
  assert.equal(moment(3725, 200), "1:02:05");
  assert.equal(moment(3725.5, 0.5), "1:02:05.500");
  assert.equal(moment(5, 3600), "0:00:05");
  assert.equal(moment(-0.25, 5), "-0.25 s");
  assert.equal(date("2026-11-22T06:51:14.871Z"), "2026-11-22 06:51:14 UTC");
  assert.equal(date("<b>"), "<b>");
});

test("shares have words", () => {
  assert.equal(shareInWords(0.5), "half of what it could");
  assert.equal(shareInWords(1.2), "all that it could");
  assert.equal(shareInWords(0), "hardly any of what it could");
  assert.equal(listed(["a", "b", "c"]), "a, b and c");
});

test("a pointer leads back to its value", () => {
  const root = new Ref({ "a/b~c": [{ x: 1 }, null], "": 3 });
  assert.equal(root.at("a/b~c", 0, "x").pointer, "/a~1b~0c/0/x");
  assert.equal(root.at("a/b~c", 0, "x").number, 1);
  assert.equal(root.at("a/b~c", 1).isKnown, false);
  assert.equal(root.at("nothing", "at", "all").number, null);
  assert.equal(root.at("constructor").isKnown, false);
  assert.equal(root.at("").number, 3);
});

test("rows are ordered, and what is unknown comes last both ways", () => {
  const rows = [3, null, 1, 2];
  assert.deepEqual(
    ordered(rows, (row) => row, "ascending"),
    [1, 2, 3, null],
  );
  assert.deepEqual(
    ordered(rows, (row) => row, "descending"),
    [3, 2, 1, null],
  );
  assert.ok(compare("n2", "n10", "ascending") < 0);
  assert.ok(matches("left 10.0.0.1:40000 rank 0", "LEFT 40000"));
  assert.ok(!matches("left 10.0.0.1:40000", "right"));
});

test("bins hold from edge to edge", () => {
  const edges = [0, 1, 3, 6];
  assert.deepEqual(stepped(edges, [5, null, 7]), [edges, [5, null, 7, 7]]);
  assert.deepEqual(stepped([], [1]), [[], []]);
  assert.equal(valueAt(edges, [5, null, 7], 3), 7);
  assert.equal(valueAt(edges, [5, null, 7], 2.9), null);
  assert.equal(valueAt(edges, [5, null, 7], 6), null);
  assert.equal(valueAt(edges, [5, null, 7], -0.1), null);
  assert.equal(firstAfter([1, 2, 2, 3], 2), 3);
  assert.deepEqual(extremesOf(edges, [5, null, 7]), { peak: 7, at: 3, mean: 6.5 });
  assert.equal(extremesOf(edges, [null, null, null]), null);
});

test("zooming stays within the run and keeps its place", () => {
  const range = new TimeRange({ from: 0, to: 100 });
  range.zoom(0.5, 20);
  assert.deepEqual(range.view, { from: 10, to: 60 });
  range.move(-1);
  assert.deepEqual(range.view, { from: 0, to: 50 });
  range.zoom(1e-12);
  assert.ok(range.view.to - range.view.from >= 0.0004);
  range.zoom(1e12);
  assert.ok(range.isAll);
});

const track = (group: string, node: string, flow: number | null, name: string) =>
  trackOf(new Ref({ group, node, flow, name, unit: "mbps", axis: 0, values: [1] }), 0);

test("tracks that are alike share a chart", () => {
  const tracks = [
    track("cpu", "a", null, "busy"),
    track("throughput", "a", 0, "payload"),
    track("throughput", "a", null, "sent"),
    track("throughput", "b", null, "sent"),
    track("unheard of", "b", null, "sent"),
  ];
  const groups = grouped(panelsOf(tracks));
  assert.deepEqual(
    groups.map(([name]) => name),
    ["throughput", "cpu", "unheard of"],
  );
  assert.deepEqual(
    groups[0]?.[1].map((panel) => [panel.title, panel.tracks.length]),
    [
      ["sent", 2],
      ["payload", 1],
    ],
  );
});

test("a node keeps its colour, and dashes tell lines apart without it", () => {
  const tracks = [
    track("cpu", "b", null, "x"),
    track("cpu", "b", null, "y"),
    track("cpu", "a", null, "x"),
  ];
  const looks = looksOf(tracks, ["a", "b"]);
  assert.deepEqual(
    looks.map((look) => look.colour),
    ["--line-2", "--line-2", "--line-1"],
  );
  assert.notDeepEqual(looks[0]?.dash, looks[1]?.dash);
});

test("rows of a rank stand under one heading", () => {
  const lane = (rank: number, kind: string) => ({
    node: "a",
    rank,
    kind,
    start_s: [0, 2],
    end_s: [1, 3],
  });
  const timeline = new Ref({
    lanes: [lane(0, "computing"), lane(1, "computing"), lane(0, "waiting")],
  });
  const lanes = lanesOf(timeline, () => true);
  assert.deepEqual(
    lanes.map((each) => each.heading),
    ["a · rank 0", "", "a · rank 1"],
  );
  const first = lanes[0];
  assert.ok(first);
  assert.equal(spanAt(first, 2.5), 1);
  assert.equal(spanAt(first, 1.5), null);
});

test("steps are stacked, and a pause is no step", () => {
  const steps = {
    number: [3, 4, 90],
    start_s: [0, 0.1, 5],
    count: [1, 1, 1],
    ms: [
      [60, 70, 80],
      [40, 30, 20],
    ],
  };
  const bars = barsOf(new Ref({ accounts: ["compute", "link"], steps }));
  assert.deepEqual(dataOf(bars, 0), [
    [0, 0.1, 0.2, 5, 5.1],
    [100, 100, null, 100, null],
    [60, 70, null, 80, null],
  ]);
  assert.deepEqual(dataOf(bars, 1)[0], [0, 0.1, 1.1, 5, 6]);
});

test("rows of a comparison are grouped by the last key that differs", () => {
  const row = (setup: string, kind: string) => ({
    name: `${setup} ${kind}`,
    keys: { setup, kind, batch: "8" },
  });
  const rows = [row("1x2", "DP"), row("1x2", "TP"), row("2x1", "DP")];
  const document = new Ref({ by: ["setup", "kind", "batch"], groups: rows });
  const cluster = clusterOf(document, groupsOf(document));
  assert.deepEqual(
    [cluster.categories, cluster.series],
    [
      ["1x2", "2x1"],
      ["DP", "TP"],
    ],
  );
  assert.deepEqual(
    cluster.at.map((bars) => bars.map((group) => group?.name ?? null)),
    [
      ["1x2 DP", "2x1 DP"],
      ["1x2 TP", null],
    ],
  );
  const one = new Ref({ by: ["setup"], groups: [row("a", "x"), row("b", "x")] });
  assert.deepEqual(clusterOf(one, groupsOf(one)).categories, ["a x", "b x"]);
});

test("an address of the page names a place and a subject, whatever it is called", () => {
  const subject = "gpu1 > gpu2 & #?=%é";
  assert.deepEqual(parse(toSubject(subject, "rtt_ms")), { place: "subject", subject, metric: "rtt_ms" });
  assert.equal(parse("")?.place, "hosts");
  assert.equal(parse("#main"), null);
  assert.equal(toReport("runs/a b&c"), "/report?run=runs%2Fa+b%26c");
});

test("a command to copy holds nothing that a shell or a terminal would run", () => {
  assert.equal(compareCommand("runs/a", "runs/b c"), "chokepoint compare runs/a 'runs/b c'");
  assert.equal(shellWord("a'$(b)`c`"), "'a'\\''$(b)`c`'");
  assert.equal(shellWord("-rf"), "./'-rf'");
  for (const text of ["", "a\nb", "a\u001b[31m", "a\u202eb"]) {
    assert.equal(shellWord(text), null);
  }
  assert.equal(compareCommand(null, "runs/b"), null);
  assert.equal(compareCommand("runs/b", "runs/b"), null);
});

test("a change reads short", () => {
  assert.equal(percentText(-36.2), "−36 %");
  assert.equal(percentText(1.234), "+1.23 %");
  const now = new Date("2026-06-01T00:00:00Z");
  assert.equal(shortDate("2026-05-03T14:10:22.000Z", now), "05-03 14:10");
  assert.equal(shortDate("2025-05-03T14:10:22.000Z", now), "2025-05-03");
});

test("a cell is coloured where it became worse or its host is worse than others", () => {
  const grade = (cell: object) => gradeOf(new Ref(cell), "more");
  assert.equal(grade({ percent: -60, worse: true }), 4);
  assert.equal(grade({ percent: -5, worse: true }), 2);
  assert.equal(grade({ percent: null, worse: true }), 4);
  assert.equal(grade({ percent: 60, worse: false }), 0);
  assert.equal(grade({ percent: null, worse: null, others: 2, times: 0.5 }), 2);
  assert.equal(grade({ percent: null, worse: null, others: 2, times: 1.5 }), 0);
  assert.equal(grade({ percent: null, worse: null, others: null, times: null }), 0);
});
