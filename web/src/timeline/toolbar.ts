// The bar that stays in view above the charts: what is shown, and how to come closer.
import type { Flow } from "../document/flow";
import { h } from "../element/h";
import { moment } from "../format/times";
import { format } from "../format/units";
import { flowChooser, nodeChooser } from "./choosers";
import type { Selection } from "./selection";
import type { TimeRange } from "./time_range";

function button(text: string, label: string, action: () => void): HTMLElement {
  const element = h("button", { attributes: { type: "button", "aria-label": label, title: label } }, text);
  element.addEventListener("click", action);
  return element;
}

export function toolbar(range: TimeRange, selection: Selection, flows: readonly Flow[]): HTMLElement {
  const view = h("output", { class: "view", attributes: { "aria-live": "polite" } });
  const say = () => {
    const { from, to } = range.view;
    const span = to - from;
    const fine = span < 600 ? span / 10 : span;
    view.textContent = `${moment(from, fine)} – ${moment(to, fine)} (${format(span, "s")})`;
  };
  range.follow(say);
  say();
  return h(
    "div",
    { class: "toolbar", attributes: { role: "toolbar", "aria-label": "timeline" } },
    h(
      "div",
      "buttons",
      button("+", "zoom in (+)", () => range.zoom(0.5)),
      button("−", "zoom out (−)", () => range.zoom(2)),
      button("←", "earlier (left arrow)", () => range.move(-0.4)),
      button("→", "later (right arrow)", () => range.move(0.4)),
      button("All", "the whole run (0)", () => range.showAll()),
    ),
    view,
    nodeChooser(selection),
    flowChooser(flows, selection),
  );
}
