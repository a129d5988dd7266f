// What each rank did with a mean step: who computes longest, and who waits.
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { cell, said } from "../element/shown";
import { Table, type Column } from "../table/table";

const time = (title: string, key: string): Column<Ref> => ({
  title,
  isNumber: true,
  cell: (row) => cell(row.at(key), "step_ms"),
  value: (row) => row.at(key).number,
});

export function ranksTable(ranks: readonly Ref[]): HTMLElement | null {
  if (ranks.length === 0) {
    return null;
  }
  const table = new Table<Ref>({
    label: "ranks",
    rows: ranks,
    columns: [
      {
        title: "Rank",
        cell: (row) => cell(row.at("rank"), "plain"),
        value: (row) => row.at("rank").number,
      },
      { title: "Node", cell: (row) => said(row.at("node")), value: (row) => row.at("node").text },
      time("Computing, a step", "computing_ms"),
      time("Waiting for others, a step", "waiting_ms"),
      time("Communicating, a step", "communicating_ms"),
    ],
  });
  return h("div", "stack", h("h3", {}, "Each rank"), table.element);
}
