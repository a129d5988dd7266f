// What each path could carry by everything that is known of it, what a probe carried before the run,
// and what the job reached.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { facts, folded, note, section } from "../element/parts";
import { cell, said } from "../element/shown";
import { date } from "../format/times";
import { format } from "../format/units";
import { Table, type Column } from "../table/table";

const speed = (title: string, key: string, hint: string): Column<Ref> => ({
  title,
  hint,
  isNumber: true,
  cell: (row) => cell(row.at(key), "mbps"),
  value: (row) => row.at(key).number,
});

function pathsTable(rows: readonly Ref[]): Child {
  if (rows.length === 0) {
    return note("No path between two nodes of this run is known.");
  }
  return new Table<Ref>({
    label: "paths",
    rows,
    columns: [
      { title: "From", cell: (row) => said(row.at("from")), value: (row) => row.at("from").text },
      { title: "To", cell: (row) => said(row.at("to")), value: (row) => row.at("to").text },
      {
        title: "Kind",
        cell: (row) =>
          `${row.at("is_wan").isTrue ? "wide area" : "local"}${row.at("family").text ? `, ${row.at("family").text}` : ""}`,
      },
      {
        title: "Round trip",
        hint: "unloaded",
        isNumber: true,
        cell: (row) => cell(row.at("min_rtt_ms"), "ms"),
        value: (row) => row.at("min_rtt_ms").number,
      },
      speed("Job, peak", "reached_mbps", "the peak of the job's payload"),
      speed("Job, while busy", "mean_busy_mbps", "mean while data were under way"),
      speed("Interface", "interface_mbps", "what the interface says its line carries"),
      speed("PCIe", "pcie_mbps", "what the card's slot carries"),
      speed("Probe", "probe_mbps", "what a probe carried before the run"),
      {
        title: "Limit",
        hint: "the least of these",
        cell: (row) => said(row.at("limit")),
        value: (row) => row.at("limit").text,
      },
      { title: "Source", cell: (row) => said(row.at("source")) },
    ],
  }).element;
}

function share(row: Ref): Child {
  const percent = row.at("share_percent");
  return h(
    "div",
    {
      class: "meter small",
      variables: { "--share": String(Math.min((percent.number ?? 0) / 100, 1)) },
    },
    percent.number === null
      ? null
      : h("span", { class: "meter-bar", attributes: { "aria-hidden": true } }),
    cell(percent, "percent"),
  );
}

function probesTable(rows: readonly Ref[]): Child {
  if (rows.length === 0) {
    return note(
      "No probe was recorded before this run; 'chokepoint probe tcp HOST --record DIR' keeps one as a baseline.",
    );
  }
  const value = (key: string): Column<Ref> => ({
    title: key === "probe_value" ? "Probe" : "Job",
    isNumber: true,
    cell: (row) => cell(row.at(key), row.at("unit").text ?? ""),
    value: (row) => row.at(key).number,
  });
  return new Table<Ref>({
    label: "probes before the run beside what the job reached",
    rows,
    columns: [
      { title: "Node", cell: (row) => said(row.at("node")), value: (row) => row.at("node").text },
      { title: "Probe", cell: (row) => said(row.at("kind")), value: (row) => row.at("kind").text },
      { title: "Peer", cell: (row) => said(row.at("peer")), value: (row) => row.at("peer").text },
      { title: "Direction", cell: (row) => said(row.at("direction")) },
      { title: "What", cell: (row) => said(row.at("what")) },
      value("probe_value"),
      value("job_value"),
      { title: "Job of probe", cell: share, value: (row) => row.at("share_percent").number },
      { title: "Source", cell: (row) => said(row.at("source")) },
    ],
  }).element;
}

// A number or a text, whichever it is.
const either = (ref: Ref, unit: string): Child =>
  ref.number === null ? said(ref) : cell(ref, unit);

function listTable(ref: Ref): Child {
  const columns = ref.at("columns").items;
  const rows = ref.at("rows").items;
  const what = ref.at("what").text ?? "";
  const count = ref.at("count").number ?? rows.length;
  return h(
    "div",
    "stack",
    h(
      "h4",
      {},
      rows.length < count
        ? `${what}: the first ${format(rows.length, "count")} of ${format(count, "count")}`
        : what,
    ),
    new Table<Ref>({
      label: what,
      rows,
      columns: columns.map((column, place) => ({
        title: column.at("what").text ?? "",
        isNumber: rows.some((row) => row.at(place).number !== null),
        cell: (row: Ref) => either(row.at(place), column.at("unit").text ?? ""),
        value: (row: Ref) => row.at(place).number ?? row.at(place).text,
      })),
    }).element,
  );
}

// Values whose names begin alike, "rtt, median" and "rtt, p99", stand together under what they share.
function valueGroups(values: readonly Ref[]): Child[] {
  const groups = new Map<string, (readonly [string, Child])[]>();
  for (const each of values) {
    const what = each.at("what").text ?? "";
    const comma = what.indexOf(", ");
    const group = comma < 0 ? "" : what.slice(0, comma);
    const pair = [
      comma < 0 ? what : what.slice(comma + 2),
      either(each.at("value"), each.at("unit").text ?? ""),
    ] as const;
    groups.set(group, [...(groups.get(group) ?? []), pair]);
  }
  return [...groups].flatMap(([group, pairs]) => [
    group === "" ? null : h("h4", {}, group),
    facts(pairs),
  ]);
}

// A probe with all that its document says.
function wholeProbe(probe: Ref): Child {
  const peer = probe.at("peer");
  const at = probe.at("at").text;
  return folded(
    h(
      "span",
      {},
      h("span", "class", said(probe.at("kind"))),
      " ",
      said(probe.at("node")),
      peer.text === null ? null : h("span", {}, " to ", said(peer)),
      h("span", "faint", ` ${at ? date(at) : ""}`),
    ),
    ...valueGroups(probe.at("values").items),
    ...probe.at("lists").items.map(listTable),
    h("p", "faint", "Source: ", said(probe.at("source"))),
  );
}

function ceilingsTable(rows: readonly Ref[]): Child {
  const value = (title: string, key: string): Column<Ref> => ({
    title,
    isNumber: true,
    cell: (row) => cell(row.at(key), row.at("unit").text ?? ""),
    value: (row) => row.at(key).number,
  });
  return new Table<Ref>({
    label: "what probes say of the verdict",
    rows,
    columns: [
      { title: "Probe", cell: (row) => said(row.at("probe")), value: (row) => row.at("probe").text },
      { title: "What", cell: (row) => said(row.at("what")) },
      { title: "From", cell: (row) => said(row.at("from")), value: (row) => row.at("from").text },
      { title: "To", cell: (row) => said(row.at("to")) },
      { title: "Device", cell: (row) => said(row.at("device")) },
      value("Probe reached", "probe_value"),
      value("Job reached", "job_value"),
      { title: "Job of probe", cell: share, value: (row) => row.at("share_percent").number },
      {
        title: "The verdict",
        hint: "for it or against it",
        cell: (row) => said(row.at("says")),
        value: (row) => row.at("says").text,
      },
      { title: "Source", cell: (row) => said(row.at("source")) },
    ],
  }).element;
}

export function pathsSection(report: Ref<Report>): HTMLElement {
  const probes = report.at("probes").items;
  const ceilings = report.at("diagnosis", "ceilings").items;
  const whole = report.at("recorded_probes").items;
  const count = `${format(whole.length, "count")} probe${whole.length === 1 ? "" : "s"}`;
  return section(
    { id: "paths", title: "Paths and probes" },
    h("h3", {}, "What each path could carry"),
    pathsTable(report.at("paths").items),
    h("h3", {}, probes.length > 0 ? `Before the run: ${count}` : "Before the run"),
    probesTable(probes),
    ceilings.length > 0 ? h("h3", {}, "What probes say of the verdict") : null,
    ceilings.length > 0 ? ceilingsTable(ceilings) : null,
    whole.length > 0 ? h("h3", {}, "Each probe, whole") : null,
    ...whole.map(wholeProbe),
  );
}
