// What there is against what could be: a bar, both numbers, and the same in words.
import type { Ref } from "../document/ref";
import { shareInWords } from "../format/words";
import { h } from "./h";
import { shown } from "./shown";

// A link that could carry more than is asked of it is well; a slot that holds its card back is not.
export function gauge(current: Ref, possible: Ref, unit: string, lowIsBad: boolean): HTMLElement {
  const [now, most] = [current.number, possible.number];
  const share = now === null || most === null || most <= 0 ? null : now / most;
  return h(
    "div",
    lowIsBad && share !== null && share < 0.85 ? "gauge low" : "gauge",
    share === null
      ? null
      : h("div", {
          class: "gauge-bar",
          attributes: { "aria-hidden": true },
          variables: { "--share": String(Math.min(share, 1)) },
        }),
    h("span", "gauge-text", shown(current, unit), " of ", shown(possible, unit)),
    share === null ? null : h("span", "gauge-words", shareInWords(share)),
  );
}
