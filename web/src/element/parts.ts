// Parts that several sections are made of.
import { append, h, type Child } from "./h";

export interface SectionText {
  readonly id: string;
  readonly title: string;
  readonly lead?: string;
}

// A landmark with its heading; the table of contents leads to it.
export function section(text: SectionText, ...children: Child[]): HTMLElement {
  const heading = `${text.id}-title`;
  return h(
    "section",
    { class: "section", attributes: { id: text.id, "aria-labelledby": heading, tabindex: -1 } },
    h("h2", { attributes: { id: heading } }, text.title),
    text.lead ? h("p", "lead", text.lead) : null,
    ...children,
  );
}

export function folded(summary: Child, ...children: Child[]): HTMLDetailsElement {
  return h("details", "folded", h("summary", {}, summary), ...children);
}

export function list(tag: "ul" | "ol", items: readonly Child[][], name = ""): HTMLElement {
  const element = h(tag, name);
  append(
    element,
    items.map((item) => h("li", {}, ...item)),
  );
  return element;
}

// Wide things scroll in their own box, by keyboard, too; the page's body never does.
export function scrollBox(label: string, ...children: Child[]): HTMLElement {
  return h(
    "div",
    { class: "scroll", attributes: { tabindex: 0, role: "region", "aria-label": label } },
    ...children,
  );
}

export function note(...children: Child[]): HTMLElement {
  return h("p", "note", ...children);
}

// Pairs of a name and what it is.
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  const element = h("dl", "facts");
  for (const [name, value] of pairs) {
    append(element, [h("div", {}, h("dt", {}, name), h("dd", {}, value))]);
  }
  return element;
}
