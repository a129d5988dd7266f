// The page that `chokepoint web` serves, of a history with a known change.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch, open, type View } from "./browser";
import { hostileName, serve, type Served } from "./served";

const program = process.argv[2] ?? "";
let browser: Browser;
let served: Served;

before(async () => {
  browser = await launch();
  served = await serve(program);
});
after(async () => {
  await browser.close();
  assert.equal(await served.end(), 0, "Ctrl-C ends it");
});

const at = (hash: string, view: View = {}) => open(browser, served.url + hash, view);

// How far something sticks out to the right.
const overhang = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

test("a known change stands first, and in its cell", async () => {
  const { page, requests, complaints } = await at("");
  await page.locator("#changes li").first().waitFor();
  assert.match(
    await page.locator("#changes li").first().innerText(),
    /^c > d: throughput 94\d Mb\/s → 60\d Mb\/s \(-36 %\).*on c meanwhile: gpu driver 550 → 570/,
  );
  const row = page.locator("#map tbody tr", { has: page.getByRole("rowheader", { name: "c", exact: true }) });
  const cell = row.locator("td").first();
  assert.match(await cell.innerText(), /60\d Mb\/s\s+−36 % since .*\s+0\.64× the others/);
  assert.match((await cell.getAttribute("class")) ?? "", /grade-3/);
  assert.equal(await page.locator("#map td.grade-3, #map td.grade-2, #map td.grade-4").count(), 1);
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
});

test("the map is walked by keyboard, and Enter leads to the subject", async () => {
  const { page } = await at("");
  await page.locator("#changes li").first().waitFor();
  await page.locator("#map td a").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const held = () => page.evaluate(() => document.activeElement?.closest("tr")?.querySelector("th")?.textContent);
  const order = await page.locator("#map tbody th").allInnerTexts();
  assert.equal(await held(), order[2]);
  const steps = order.indexOf("c") - 2;
  for (let step = 0; step < Math.abs(steps); step++) {
    await page.keyboard.press(steps > 0 ? "ArrowDown" : "ArrowUp");
  }
  await page.keyboard.press("Enter");
  await page.locator("#changed canvas").first().waitFor();
  assert.equal(await page.locator("h1").innerText(), "c");
  assert.match(await page.locator("#changed li").first().innerText(), /94\d Mb\/s → 60\d Mb\/s \(−36 %\) worse/);
  assert.match(await page.locator("#settings tbody tr").first().innerText(), /c\s+gpu driver\s+550\s+570/);
  await page.goBack();
  await page.locator("#map").waitFor();
});

test("hosts that are usual can be left out", async () => {
  const { page } = await at("");
  await page.locator("#changes li").first().waitFor();
  await page.getByLabel("Unusual ones alone").check();
  assert.deepEqual(await page.locator("#map tbody th").allInnerTexts(), ["c"]);
});

test("a run has its report, which can ask the server for nothing", async () => {
  const { page } = await at("#runs");
  const link = page.getByRole("link", { name: "Report", exact: true });
  await link.waitFor();
  const [report] = await Promise.all([page.waitForEvent("popup"), link.click()]);
  await report.waitForFunction(() => document.documentElement.dataset.ready === "true");
  assert.match(await report.locator("h1").innerText(), /\S/);
  const answer = await report.evaluate(() => fetch("/data/fleet").then(String, () => "refused"));
  assert.equal(answer, "refused");
  assert.equal(await report.evaluate(() => String(globalThis.origin)), "null");
});

test("without a run that goes on the page says so", async () => {
  const { page } = await at("#live");
  await page.getByText("No run goes on now").waitFor();
});

test("what is not remembered is an error in words", async () => {
  const { page, complaints } = await at("#subject?subject=nobody");
  await page.getByText("nothing is remembered of it").waitFor();
  assert.equal(complaints.filter((each) => !each.includes("500")).length, 0);
});

for (const scheme of ["light", "dark"] as const) {
  test(`nothing sticks out of a phone, ${scheme}`, async () => {
    for (const hash of ["", "#runs", "#subject?subject=c", "#live"]) {
      const { page, requests } = await at(hash, { width: 390, height: 844, scheme });
      await page.waitForTimeout(300);
      assert.equal(await overhang(page), 0, hash);
      assert.deepEqual(requests, []);
      await page.context().close();
    }
  });
}

test("a hostile name stays a text", async () => {
  const { page, complaints } = await at(`#subject?${new URLSearchParams({ subject: hostileName })}`);
  await page.locator("canvas").first().waitFor();
  assert.equal(await page.locator("h1").innerText(), hostileName);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => (globalThis as { broken?: number }).broken), undefined);
  assert.deepEqual(complaints, []);
});

test("a token is asked for, leaves the address, and is not asked for again", async () => {
  const token = "a token of this test";
  const own = await serve(program, [], token);
  const refused = await fetch(own.url);
  assert.equal(refused.status, 401);
  const { page } = await open(browser, `${own.url}?${new URLSearchParams({ token })}`);
  await page.locator("#changes li").first().waitFor();
  assert.ok(!page.url().includes("token"));
  await page.reload();
  await page.locator("#changes li").first().waitFor();
  await own.end();
});
