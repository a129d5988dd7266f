// Numbers on a page against the document that they name their place in.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { Ref } from "../../web/src/document/ref";
import { dash, format, unknown } from "../../web/src/format/units";

export interface Shown {
  readonly path: string;
  readonly unit: string;
  readonly text: string;
  readonly title: string;
}

function find(document: object, pointer: string): Ref {
  const keys = pointer.split("/").slice(1);
  return new Ref(document).along(
    keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")),
  );
}

// Not by the page's own formatter: the digits, read back, times what the unit stands for.
const factors: Record<string, number> = {
  "Tb/s": 1e6,
  "Gb/s": 1e3,
  "Mb/s": 1,
  "kb/s": 1e-3,
  "b/s": 1e-6,
  PB: 1e15,
  TB: 1e12,
  GB: 1e9,
  MB: 1e6,
  kB: 1e3,
  B: 1,
  s: 1e3,
  ms: 1,
  µs: 1e-3,
  ns: 1e-6,
};

// Times are read back as milliseconds.
const thousandths: Record<string, number> = { s: 1e-3, us: 1e3 };

function readBack(shown: Shown): number | null {
  const parts = /^(-?[\d,.]+) ?(\S*)/.exec(shown.text);
  if (!parts || shown.text.includes(" min") || ["lanes", "factor", "change"].includes(shown.unit)) {
    return null;
  }
  const factor =
    shown.unit === "share"
      ? 0.01
      : (thousandths[shown.unit] ?? 1) * (factors[parts[2] ?? ""] ?? 1);
  return Number((parts[1] ?? "").replaceAll(",", "")) * factor;
}

export function check(document: object, shown: Shown): void {
  const { number } = find(document, shown.path);
  if (number === null) {
    assert.ok(
      [unknown, dash].includes(shown.text),
      `${shown.path} is unknown, and '${shown.text}' is shown`,
    );
    return;
  }
  assert.equal(shown.text, format(number, shown.unit), shown.path);
  assert.equal(Number(shown.title.split(" ")[0]), number, shown.path);
  const back = readBack(shown);
  if (back !== null) {
    const least = shown.unit === "percent" || shown.unit === "share" ? 0.06 : 0.006;
    assert.ok(
      Math.abs(back - number) <= Math.max(Math.abs(number) * least, 1e-9),
      `${shown.path}: ${number} is shown as ${shown.text}`,
    );
  }
}

export function numbersOn(page: Page): Promise<Shown[]> {
  return page.locator("[data-path]").evaluateAll((elements) =>
    elements.map((element) => {
      const { path = "", unit = "" } = (element as HTMLElement).dataset;
      return {
        path,
        unit,
        text: element.textContent ?? "",
        title: element.getAttribute("title") ?? "",
      };
    }),
  );
}
