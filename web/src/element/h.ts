// Elements are made here and only here: attributes by name, children as nodes, and every text as a
// text node, so that nothing a record says can become markup.

export type Child = Node | string | null | false | undefined;

export interface Properties {
  class?: string;
  attributes?: Record<string, string | number | boolean | null>;
  data?: Record<string, string>;
  // CSS custom properties, which a content security policy allows where it forbids style="…".
  variables?: Record<string, string>;
  on?: Partial<{ [K in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[K]) => void }>;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties | string = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, typeof properties === "string" ? { class: properties } : properties);
  append(element, children);
  return element;
}

export function svg(
  tag: string,
  attributes: Record<string, string | number> = {},
  ...children: Child[]
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
    }
  }
}

function apply(element: HTMLElement, properties: Properties): void {
  if (properties.class) {
    element.className = properties.class;
  }
  for (const [name, value] of Object.entries(properties.attributes ?? {})) {
    if (value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  Object.assign(element.dataset, properties.data ?? {});
  for (const [name, value] of Object.entries(properties.variables ?? {})) {
    element.style.setProperty(name, value);
  }
  for (const [name, handler] of Object.entries(properties.on ?? {})) {
    element.addEventListener(name, handler as EventListener);
  }
}
