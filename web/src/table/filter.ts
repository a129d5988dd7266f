// The box above a table that leaves only the rows one looks for.
import { h } from "../element/h";
import { matches } from "./order";
import type { Table } from "./table";

export function filterBox<Row>(
  table: Table<Row>,
  all: number,
  what: string,
  hint: string,
  textOf: (row: Row) => string,
): HTMLElement {
  const count = h("output", { class: "count", attributes: { "aria-live": "polite" } });
  const say = (left: number) => {
    count.textContent = left === all ? `${all} ${what}` : `${left} of ${all} ${what}`;
  };
  const input = h("input", {
    attributes: { type: "search", placeholder: hint, spellcheck: "false" },
  });
  input.addEventListener("input", () => {
    say(table.filter((row) => matches(textOf(row), input.value)));
  });
  say(all);
  return h("div", "filter", h("label", {}, "Filter ", input), count);
}
