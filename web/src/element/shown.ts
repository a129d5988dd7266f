// What stands in the document, on the page. Each element names where its content was taken from.
import type { Ref } from "../document/ref";
import { dash, exact, format, unknown } from "../format/units";
import { h } from "./h";

// A number: what people read, with the exact value behind it.
export function shown(ref: Ref, unit: string): HTMLElement {
  const value = ref.number;
  if (value === null) {
    return missing(ref, unit, unknown);
  }
  return h(
    "span",
    {
      class: "number",
      attributes: { title: exact(value, unit) },
      data: { path: ref.pointer, unit },
    },
    format(value, unit),
  );
}

// The same for a table's cell, where many may be unknown.
export function cell(ref: Ref, unit: string): HTMLElement {
  return ref.number === null ? missing(ref, unit, dash) : shown(ref, unit);
}

function missing(ref: Ref, unit: string, text: string): HTMLElement {
  const attributes: Record<string, string> =
    text === dash ? { title: unknown, role: "img", "aria-label": unknown } : {};
  return h("span", { class: "unknown", attributes, data: { path: ref.pointer, unit } }, text);
}

// A text, or a dash.
export function said(ref: Ref, otherwise = dash): HTMLElement {
  const text = ref.text;
  return text === null
    ? h("span", { class: "unknown", attributes: { title: unknown } }, otherwise)
    : h("span", { data: { text: ref.pointer } }, text);
}
