// What to know about the timeline: what it leaves out, and how well the nodes' clocks agree.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { list } from "../element/parts";
import { cell, said } from "../element/shown";

// Of a kind of span, how many of all have a place in the document.
function leftOut(timeline: Ref<Report["timeline"]>): Child[][] {
  const known = new Set<string>();
  return timeline.at("lanes").items.flatMap((lane) => {
    const kind = lane.at("kind").text ?? "";
    const [shown, all] = [lane.at("shown"), lane.at("all")];
    if (known.has(kind) || (shown.number ?? 0) >= (all.number ?? 0)) {
      return [];
    }
    known.add(kind);
    return [
      [`${kind}: `, cell(shown, "count"), " of ", cell(all, "count"), " of a rank are drawn"],
    ];
  });
}

export function remarks(timeline: Ref<Report["timeline"]>): HTMLElement | null {
  const items = timeline.at("remarks").items.map((each): Child[] => [said(each)]);
  const all = [...items, ...leftOut(timeline)];
  return all.length > 0 ? list("ul", all, "remarks") : null;
}

// Of one node there is nothing to agree with.
export function clocks(timeline: Ref<Report["timeline"]>): HTMLElement | null {
  const nodes = timeline.at("nodes").items;
  const told = nodes.filter((node) => node.at("clock", "source").isKnown);
  if (nodes.length < 2 || told.length === 0) {
    return null;
  }
  const parts = told.flatMap((node, index): Child[] => [
    index > 0 ? "; " : null,
    said(node.at("name")),
    " by ",
    said(node.at("clock", "source")),
    node.at("clock", "error_ms").number === null ? null : " within ",
    node.at("clock", "error_ms").number === null ? null : cell(node.at("clock", "error_ms"), "ms"),
  ]);
  return h("p", "source", "One clock for all nodes: ", ...parts, ".");
}
