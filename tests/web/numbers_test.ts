// Every number on the page is the document's: all elements that name their place in it are walked.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launch, open } from "./browser";
import { check, numbersOn, type Shown } from "./numbers";
import { documents, viewOf, writePage, type Kind } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

async function numbersOf(file: string): Promise<Shown[]> {
  const { page } = await open(browser, file);
  return numbersOn(page);
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
