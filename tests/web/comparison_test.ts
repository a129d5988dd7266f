// The page of a comparison.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { launch, open } from "./browser";
import { comparison } from "./made/comparison";
import { hostile } from "./made/shape";
import { pageOf, writePage } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test("what differs beyond noise stands first, in words", async () => {
  const { page } = await open(browser, pageOf("comparison"));
  const first = await page.locator("main .section").first().innerText();
  assert.match(first, /2 rows worse than the baseline, beyond noise/);
  assert.match(first, /step differs by 18.2 %: more loss/);
  const noise = page.locator("#differences .stack");
  assert.match(await noise.innerText(), /step differs by 0.4 %/);
  const marks = await page.locator("#table td .mark").allInnerTexts();
  assert.deepEqual(marks, ["worse", "better", "worse", "better"]);
});

test("each figure has bars with their spread, and says them in words", async () => {
  const { page } = await open(browser, pageOf("comparison"));
  await page.locator("#bars canvas").first().waitFor();
  assert.equal(await page.locator("#bars canvas").count(), 5);
  const label = await page.locator("#bars .chart").first().getAttribute("aria-label");
  assert.match(
    label ?? "",
    /Sample throughput, tokens by row\. 1x2 DP: [\d,.]+ \/s; .*4x1 –: not measured|4x1 DP: not measured/,
  );
});

test("rows sort, and what is unknown comes last", async () => {
  const { page } = await open(browser, pageOf("comparison"));
  const header = page.locator("#table th", { hasText: "Step" });
  await header.getByRole("button").click();
  const last = page.locator("#table tbody tr").last();
  assert.match(await last.innerText(), /^4x1/);
  await header.getByRole("button").click();
  assert.match(await last.innerText(), /^4x1/);
});

test("hostile texts stay texts", async () => {
  const { page, requests, complaints } = await open(
    browser,
    writePage("comparison", comparison(hostile.text)),
    { width: 390 },
  );
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator("img, iframe, body script:not(#document) ~ script").count(), 0);
  assert.equal(await page.evaluate(() => (globalThis as { broken?: number }).broken), undefined);
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(wide, 0);
});
