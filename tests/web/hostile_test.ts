// Whatever a record's texts hold, they stay texts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launch, open } from "./browser";
import { documents, writePage } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// The elements of a page, by name; a hostile text must add none.
const census = () =>
  [...document.querySelectorAll("*")].reduce<Record<string, number>>((counts, element) => {
    counts[element.localName] = (counts[element.localName] ?? 0) + 1;
    return counts;
  }, {});

test("hostile texts make no element, run nothing and ask for nothing", async () => {
  const hostile = documents.hostile();
  const { page, requests, complaints } = await open(browser, writePage("report", hostile), {
    width: 390,
  });
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
  assert.equal(await page.evaluate(() => (globalThis as { broken?: number }).broken), undefined);
  const counts = await page.evaluate(census);
  assert.equal(counts.img, undefined);
  assert.equal(counts.script, 2);
  const attributes = await page.evaluate(() =>
    [...document.querySelectorAll("*")].flatMap((element) =>
      [...element.attributes].map((each) => each.name),
    ),
  );
  assert.deepEqual(
    attributes.filter((name) => name.startsWith("on")),
    [],
  );
  const outside = await page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const all = scrollWidth > clientWidth ? [...document.querySelectorAll("main *")] : [];
    return all
      .filter(
        (each) => !each.closest(".scroll") && each.getBoundingClientRect().right > clientWidth,
      )
      .map((each) => `${each.localName}.${each.className}`);
  });
  assert.deepEqual(outside, []);
});

test("each shown text is the document's", async () => {
  const hostile = documents.hostile();
  const { page } = await open(browser, writePage("report", hostile));
  const shown = await page
    .locator("[data-text]")
    .evaluateAll((elements) =>
      elements.map(
        (element) =>
          [(element as HTMLElement).dataset.text ?? "", element.textContent ?? ""] as const,
      ),
    );
  assert.ok(shown.length > 100);
  for (const [pointer, text] of shown) {
    assert.equal(text, at(hostile, pointer), pointer);
  }
});

const unescaped = (key: string) => key.replaceAll("~1", "/").replaceAll("~0", "~");

function at(document: object, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[unescaped(key)], document);
}
