// Every number on the page is the document's: all elements that name their place in it are walked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Ref } from "../../web/src/document/ref";
import { dash, format, unknown } from "../../web/src/format/units";
import { launch, open } from "./browser";
import { documents, viewOf, writePage, type Kind } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

interface Shown {
  readonly path: string;
  readonly unit: string;
  readonly text: string;
  readonly title: string;
}

function find(document: object, pointer: string): Ref {
  const keys = pointer.split("/").slice(1);
  return new Ref(document).at(
    ...keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~")),
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

function check(document: object, shown: Shown): void {
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

async function numbersOf(file: string): Promise<Shown[]> {
  const { page } = await open(browser, file);
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

for (const kind of ["small", "hour", "empty", "comparison"] as Kind[]) {
  test(`every number of what is ${kind} is the document's`, async () => {
    const document = documents[kind]();
    const numbers = await numbersOf(writePage(viewOf(kind), document));
    assert.ok(numbers.length > (kind === "empty" ? 3 : 100), `only ${numbers.length} numbers`);
    numbers.forEach((each) => check(document, each));
  });
}

// A page that chokepoint wrote, as the third argument: its own document is what it must show.
const given = process.argv[3];
test(
  "every number of a written page is its document's",
  { skip: given === undefined },
  async () => {
    const html = readFileSync(given as string, "utf8");
    const json = /<script type="application\/json" id="document">(.*?)<\/script>/s.exec(html)?.[1];
    const numbers = await numbersOf(given as string);
    assert.ok(numbers.length > 0);
    numbers.forEach((each) => check(JSON.parse(json ?? "null"), each));
  },
);
