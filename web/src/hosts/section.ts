// Each host: how data leave it, and what of its settings matters.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { folded, note, section } from "../element/parts";
import { cell, said } from "../element/shown";
import { Table } from "../table/table";
import { picture } from "./picture";

function factValue(ref: Ref): Child {
  return ref.number === null ? said(ref.at("value")) : cell(ref, "plain");
}

function factsTable(host: Ref): Child {
  const rows = host.at("facts").items;
  if (rows.length === 0) {
    return null;
  }
  const value = (row: Ref) =>
    row.at("value").number === null ? factValue(row) : cell(row.at("value"), "plain");
  const table = new Table<Ref>({
    label: `facts of ${host.at("name").text ?? "the host"}`,
    rows,
    columns: [
      {
        title: "Of",
        cell: (row) => said(row.at("subject")),
        value: (row) => row.at("subject").text,
      },
      { title: "Fact", cell: (row) => said(row.at("key")), value: (row) => row.at("key").text },
      { title: "Value", cell: value },
      {
        title: "Source",
        cell: (row) => said(row.at("source")),
        value: (row) => row.at("source").text,
      },
    ],
  });
  return folded(`${rows.length} facts that matter`, table.element);
}

const order = ["CRITICAL", "WARNING", "UNKNOWN", "INFO", "PASS"];

function doctorTable(host: Ref): Child {
  const checks = host.at("doctor");
  if (!checks.isKnown) {
    return note("doctor was not run on this host before the job.");
  }
  const rows = checks.items;
  const weight = (row: Ref) => order.indexOf(row.at("status").text ?? "");
  const wrong = rows.filter((row) => weight(row) === 0 || weight(row) === 1).length;
  const table = new Table<Ref>({
    label: `doctor's checks of ${host.at("name").text ?? "the host"}`,
    rows,
    sort: { column: 0, direction: "ascending" },
    columns: [
      {
        title: "Status",
        cell: (row) => h("span", `status ${row.at("status").text ?? ""}`, said(row.at("status"))),
        value: weight,
      },
      { title: "Check", cell: (row) => said(row.at("id")), value: (row) => row.at("id").text },
      {
        title: "Of",
        cell: (row) => said(row.at("subject")),
        value: (row) => row.at("subject").text,
      },
      { title: "Found", isWide: true, cell: (row) => said(row.at("found")) },
      { title: "Wanted", isWide: true, cell: (row) => said(row.at("wanted")) },
      { title: "Do", isWide: true, cell: (row) => said(row.at("next_step")) },
    ],
  });
  const summary =
    wrong > 0
      ? `doctor: ${wrong} of ${rows.length} checks found something`
      : `doctor: ${rows.length} checks, nothing to fix`;
  return folded(summary, table.element);
}

function hostPart(host: Ref, paths: readonly Ref[]): HTMLElement {
  const name = host.at("name").text;
  const system = ["host", "distribution", "kernel"]
    .map((key) => host.at(key).text)
    .filter((text) => text && text !== name);
  return h(
    "div",
    "host-part",
    h("h3", {}, said(host.at("name")), h("small", {}, system.join(" · "))),
    picture(
      host,
      paths.filter((path) => path.at("from").text === name),
    ),
    factsTable(host),
    doctorTable(host),
  );
}

export function hostsSection(report: Ref<Report>): HTMLElement {
  const hosts = report.at("hosts").items;
  const paths = report.at("paths").items;
  return section(
    {
      id: "hosts",
      title: "Hosts",
      lead: "How data leave each host, and how much of what each link could carry.",
    },
    ...(hosts.length > 0
      ? hosts.map((host) => hostPart(host, paths))
      : [note("Nothing is recorded of any host.")]),
  );
}
