// Who talks to whom: rows send, columns receive; the more, the darker.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { scrollBox } from "../element/parts";
import { cell, said } from "../element/shown";

const largestOf = (rows: Ref): number =>
  Math.max(0, ...rows.items.flatMap((row) => row.numbers.map((each) => each ?? 0)));

function square(bytes: Ref, speed: Ref, most: number, label: string, isSelf: boolean): HTMLElement {
  const value = bytes.number;
  if (value === null) {
    return h("td", "none", isSelf ? "·" : cell(bytes, "bytes"));
  }
  return h(
    "td",
    {
      class: "shaded",
      attributes: { title: label },
      variables: { "--share": String(most > 0 ? value / most : 0) },
    },
    cell(bytes, "bytes"),
    speed.number === null ? null : h("small", {}, cell(speed, "mbps")),
  );
}

export function matrixTable(matrix: Ref<Report["matrix"]>): Child {
  const names = matrix.at("names").items;
  const bytes = matrix.at("bytes");
  if (names.length === 0) {
    return null;
  }
  const most = largestOf(bytes);
  const heads = names.map((name) => h("th", { attributes: { scope: "col" } }, said(name)));
  const rows = names.map((name, from) =>
    h(
      "tr",
      {},
      h("th", { attributes: { scope: "row" } }, said(name)),
      ...names.map((other, to) =>
        square(
          bytes.at(from, to),
          matrix.at("throughput_mbps", from, to),
          most,
          `${name.text} to ${other.text}`,
          from === to,
        ),
      ),
    ),
  );
  const corner = h("th", { class: "corner", attributes: { scope: "col" } }, "sends ↓  receives →");
  const table = h(
    "table",
    "matrix",
    h("thead", {}, h("tr", {}, corner, ...heads)),
    h("tbody", {}, ...rows),
  );
  return h(
    "div",
    "matrix-box",
    h("h3", {}, "Who talks to whom"),
    scrollBox("who talks to whom", table),
    matrix.at("source").text ? h("p", "source", "Source: ", said(matrix.at("source"))) : null,
  );
}
