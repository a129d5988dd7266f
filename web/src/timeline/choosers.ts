// What of the run the timeline shows: nodes as switches, flows as a list to choose from.
import type { Flow } from "../document/flow";
import { h } from "../element/h";
import { format } from "../format/units";
import { matches } from "../table/order";
import type { Selection } from "./selection";

export function nodeChooser(selection: Selection): HTMLElement | null {
  if (selection.nodes.length < 2) {
    return null;
  }
  const boxes = selection.nodes.map((node, index) => {
    const box = h("input", { attributes: { type: "checkbox", checked: true } });
    box.addEventListener("change", () => selection.setNode(node, box.checked));
    const dot = h("span", {
      class: "dot",
      attributes: { "aria-hidden": true },
      variables: { "--dot": `var(--line-${(index % 8) + 1})` },
    });
    return h("label", "chip", box, dot, node);
  });
  return h("fieldset", "chips", h("legend", {}, "Nodes"), ...boxes);
}

function option(flow: Flow, selection: Selection): HTMLElement {
  const box = h("input", { attributes: { type: "checkbox" } });
  box.checked = selection.hasFlow(flow.index);
  box.addEventListener("change", () => selection.setFlow(flow.index, box.checked));
  selection.follow(() => (box.checked = selection.hasFlow(flow.index)));
  return h(
    "label",
    "choice",
    box,
    h("span", {}, flow.label),
    h("small", {}, format(flow.bytes, "bytes")),
  );
}

export function flowChooser(all: readonly Flow[], selection: Selection): HTMLElement | null {
  const flows = all.filter((flow) => selection.canHave(flow.index));
  if (flows.length === 0) {
    return null;
  }
  const options = flows.map((flow) => ({ flow, element: option(flow, selection) }));
  const sorted = [...options].sort((left, right) => right.flow.bytes - left.flow.bytes);
  const filter = h("input", {
    attributes: { type: "search", placeholder: "filter", "aria-label": "filter flows" },
  });
  filter.addEventListener("input", () => {
    sorted.forEach(({ flow, element }) => {
      element.hidden = !matches(flow.searched, filter.value);
    });
  });
  const none = h("button", { attributes: { type: "button" } }, "None");
  none.addEventListener("click", () => selection.setFlows([]));
  const summary = h("summary", {});
  const say = () => (summary.textContent = `Flows: ${selection.flows.length} of ${flows.length}`);
  selection.follow(say);
  say();
  const choices = h("div", "choices", ...sorted.map((each) => each.element));
  return h("details", "chooser", summary, h("div", "menu", h("div", "row", filter, none), choices));
}
