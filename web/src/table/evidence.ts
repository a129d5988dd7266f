// The measurements behind a claim: what was seen, how much of it, and where that stands.
import type { Ref } from "../document/ref";
import { cell, said } from "../element/shown";
import { Table } from "./table";

// Nothing where the claim names none.
export function evidenceTable(claim: Ref): HTMLElement | null {
  const rows = claim.at("evidence").items;
  if (rows.length === 0) {
    return null;
  }
  const table = new Table<Ref>({
    label: "evidence",
    rows,
    columns: [
      { title: "Evidence", isWide: true, cell: (row) => said(row.at("what")) },
      {
        title: "Value",
        isNumber: true,
        cell: (row) => cell(row.at("value"), row.at("unit").text ?? ""),
      },
      { title: "Source", cell: (row) => said(row.at("from")) },
    ],
  });
  return table.element;
}
