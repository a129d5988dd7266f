// The runs behind the rows, one by one.
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { cell, said } from "../element/shown";
import { filterBox } from "../table/filter";
import { Table, type Column } from "../table/table";
import type { Figure, Group } from "./model";

const steps: Column<Ref> = {
  title: "Steps",
  isNumber: true,
  cell: (run) => cell(run.at("steps", "count"), "count"),
  value: (run) => run.at("steps", "count").number,
};
const verdict: Column<Ref> = {
  title: "Verdict",
  isWide: true,
  cell: (run) => said(run.at("verdict", "sentence")),
  value: (run) => run.at("verdict", "class").text,
};

export function runsTable(
  document: Ref,
  figures: readonly Figure[],
  groups: readonly Group[],
): HTMLElement {
  const runs = document.at("runs").items;
  const isOfProbes = document.at("of").text === "probes";
  const group = (run: Ref) => groups[run.at("group").number ?? -1]?.name ?? "–";
  const shown = document.at("shown").texts;
  const columns = figures.filter(
    (each) => shown.includes(each.key) && each.key !== "scaling_factor",
  );
  const table = new Table<Ref>({
    label: "runs",
    rows: runs,
    columns: [
      {
        title: "Run",
        isWide: true,
        name: "long",
        cell: (run) => said(run.at("path")),
        value: (run) => run.at("path").text,
      },
      { title: "Row", cell: group, value: group },
      ...(isOfProbes ? [] : [steps]),
      ...columns.map((figure) => ({
        title: figure.title,
        isNumber: true,
        cell: (run: Ref) => {
          const from = run.at("figures", figure.key, "from").text;
          return h(
            "span",
            { attributes: { title: from } },
            cell(run.at("figures", figure.key, "value"), figure.unit),
          );
        },
        value: (run: Ref) => run.at("figures", figure.key, "value").number,
      })),
      ...(isOfProbes ? [] : [verdict]),
      { title: "To know", isWide: true, cell: (run) => run.at("remarks").texts.join("; ") },
    ],
  });
  const text = (run: Ref) =>
    `${run.at("path").text} ${group(run)} ${run.at("verdict", "class").text} ${run.at("verdict", "sentence").text}`;
  return h(
    "div",
    "stack",
    filterBox(table, runs.length, "runs", "folder, row, verdict …", text),
    table.element,
  );
}
