// The hosts: who took part, who did not and why, and what each says of itself.
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { section } from "../element/parts";
import { cell, said } from "../element/shown";
import { filterBox } from "../table/filter";
import { Table } from "../table/table";
import type { Scene } from "./scene";

const states: Record<string, string> = {
  unresolved: "its name leads nowhere",
  unreachable: "not reached",
  "no-agent": "no agent listens",
  refused: "refused the connection",
  strange: "speaks another protocol",
  lost: "lost during the test",
  present: "took part",
};

const isPresent = (host: Ref): boolean => host.at("presence").text === "present";

function state(host: Ref): Child {
  const name = host.at("presence").text ?? "";
  const reason = host.at("error", "reason");
  const during = host.at("lost_during");
  return h(
    "span",
    {},
    h("span", isPresent(host) ? "" : "warn", states[name] ?? name),
    reason.text === null ? null : h("small", {}, said(reason)),
    during.text === null ? null : h("small", {}, "during ", said(during)),
  );
}

function doctor(host: Ref): Child {
  const wrong = host
    .at("doctor")
    .items.filter((check) => ["CRITICAL", "WARNING"].includes(check.at("status").text ?? ""));
  return wrong.length === 0
    ? "–"
    : h(
        "span",
        {},
        ...wrong.slice(0, 3).map((check) => h("small", {}, said(check.at("id")))),
        wrong.length > 3 ? h("small", {}, `and ${wrong.length - 3} more`) : null,
      );
}

export function hostsSection({ document }: Scene): HTMLElement {
  const rows = document.at("hosts").items;
  const table = new Table<Ref>({
    label: "hosts",
    rows,
    rowName: (host) => (isPresent(host) ? "" : "faint"),
    columns: [
      {
        title: "Host",
        cell: (host) => said(host.at("name")),
        value: (host) => host.at("name").text,
      },
      { title: "State", isWide: true, cell: state, value: (host) => host.at("presence").text },
      {
        title: "Address",
        cell: (host) => said(host.at("address")),
        value: (host) => host.at("address").text,
      },
      {
        title: "Link and slot give",
        isNumber: true,
        cell: (host) => cell(host.at("link_mbps"), "mbps"),
        value: (host) => host.at("link_mbps").number,
      },
      {
        title: "Cores",
        isNumber: true,
        cell: (host) => cell(host.at("facts", "cpus"), "count"),
        value: (host) => host.at("facts", "cpus").number,
      },
      {
        title: "GPUs",
        isNumber: true,
        cell: (host) => cell(host.at("facts", "gpus"), "count"),
        value: (host) => host.at("facts", "gpus").number,
      },
      { title: "doctor", cell: doctor },
      {
        title: "Program",
        cell: (host) => said(host.at("program")),
        value: (host) => host.at("program").text,
      },
    ],
  });
  const text = (host: Ref) =>
    ["name", "address", "presence", "program"].map((key) => host.at(key).text ?? "").join(" ");
  return section(
    { id: "hosts", title: "Hosts" },
    rows.length > 8 ? filterBox(table, rows.length, "hosts", "name, address, state …", text) : null,
    table.element,
  );
}
