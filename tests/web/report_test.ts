// The page in a browser: what it shows, and what one can do with it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch, open, type Opened, type View } from "./browser";
import { pageOf, type Kind } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

async function opened(kind: Kind, view: View = {}): Promise<Opened> {
  return open(browser, pageOf(kind), view);
}

const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

// Every chart, also those that are drawn only when one comes near.
async function unrolled(page: Page): Promise<void> {
  for (const chart of await page.locator(".chart").all()) {
    await chart.scrollIntoViewIfNeeded();
    await chart.locator("canvas").waitFor();
  }
}

const scales = (page: Page) =>
  page
    .locator(".chart")
    .evaluateAll((charts) =>
      charts.map(
        (chart) => `${(chart as HTMLElement).dataset.from} ${(chart as HTMLElement).dataset.to}`,
      ),
    );

for (const kind of ["small", "hour", "empty", "comparison"] as const) {
  test(`a page of what is ${kind} opens without a request or a complaint`, async () => {
    const { page, requests, complaints } = await opened(kind);
    await unrolled(page);
    assert.deepEqual(requests, []);
    assert.deepEqual(complaints, []);
    const paint = await page.evaluate(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    );
    console.log(`first paint of ${kind}: ${paint?.toFixed(0)} ms`);
  });

  for (const width of [1280, 390]) {
    test(`nothing of a ${kind} one stands out sideways at ${width} pixels`, async () => {
      const { page } = await opened(kind, { width });
      await unrolled(page);
      assert.equal(await overflow(page), 0);
    });
  }
}

test("the verdict stands first, with what it costs", async () => {
  const { page } = await opened("small");
  const verdict = await page.locator("main .section").first().innerText();
  assert.match(verdict, /link between left and right \(both directions\) is full/i);
  assert.match(verdict, /143 ms lost in each step of 281 ms, between 109 ms and 178 ms/);
  assert.match(verdict, /chokepoint predict --from runs\/a --link 10G/);
});

test("keys, buttons and dragging zoom all charts together", async () => {
  const { page } = await opened("small");
  await unrolled(page);
  const all = await scales(page);
  assert.ok(all.length > 10);
  assert.equal(new Set(all).size, 1);

  await page.locator("#timeline .charts").focus();
  await page.keyboard.press("+");
  const closer = new Set(await scales(page));
  assert.equal(closer.size, 1);
  assert.notDeepEqual([...closer], [all[0]]);
  await page.keyboard.press("ArrowRight");
  assert.notDeepEqual(new Set(await scales(page)), closer);
  await page.keyboard.press("0");
  assert.deepEqual(await scales(page), all);

  const plot = page.locator("#timeline .chart .u-over").nth(1);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + box.width * 0.2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 20, { steps: 4 });
  await page.mouse.up();
  const dragged = new Set(await scales(page));
  assert.equal(dragged.size, 1);
  assert.notDeepEqual([...dragged], [all[0]]);
  await page.getByRole("button", { name: "the whole run (0)" }).click();
  assert.deepEqual(await scales(page), all);
});

test("the wheel scrolls the page, and zooms with Ctrl", async () => {
  const { page } = await opened("small");
  const plot = page.locator("#timeline .chart .u-over").first();
  await plot.scrollIntoViewIfNeeded();
  const [all] = await scales(page);
  await plot.hover();
  await page.mouse.wheel(0, 60);
  assert.equal((await scales(page))[0], all);
  await plot.scrollIntoViewIfNeeded();
  await plot.hover();
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await page.waitForFunction((before) => {
    const { from, to } = (document.querySelector("#timeline .chart") as HTMLElement).dataset;
    return `${from} ${to}` !== before;
  }, all);
});

test("a moment leads to its place in the timeline", async () => {
  const { page } = await opened("small");
  await page.getByText("3 moments of evidence and events").click();
  await page.locator("[data-moment='/moments/2']").click();
  const [scale] = await scales(page);
  const [from, to] = (scale ?? "").split(" ").map(Number);
  const at = 19.3 * 0.72;
  assert.ok(from !== undefined && to !== undefined && from < at && at < to && to - from < 2, scale);
});

test("the cursor reads every chart's values", async () => {
  const { page } = await opened("small");
  const legend = page.locator("#timeline .panel .legend .value").first();
  const plot = page.locator("#timeline .panel .u-over").first();
  await page.locator("#timeline .panel .chart").first().scrollIntoViewIfNeeded();
  assert.match(await legend.innerText(), /peak/);
  await plot.hover({ position: { x: 200, y: 20 } });
  assert.match(await legend.innerText(), /^[\d.]+ [MG]b\/s$/);
});

test("nodes and flows can be chosen", async () => {
  const { page } = await opened("small");
  const names = () => page.locator("#timeline .panel").first().locator(".name").allInnerTexts();
  assert.deepEqual(await names(), ["left eth0", "right eth0"]);
  await page.getByRole("checkbox", { name: "right", exact: true }).uncheck();
  assert.deepEqual(await names(), ["left eth0"]);
  await page.getByText("Flows: 4 of 6").click();
  await page.getByRole("button", { name: "None" }).click();
  assert.equal(await page.locator("#timeline figcaption", { hasText: "chosen flows" }).count(), 0);
});

const column = (page: Page, index: number) =>
  page
    .locator("#flows [aria-label='flows'] tbody tr")
    .evaluateAll((rows, at) => rows.map((row) => row.children[at]?.textContent ?? ""), index);

test("flows sort by click and by Enter, and say so", async () => {
  const { page } = await opened("small");
  const header = page.locator("#flows th", { hasText: "Throughput" });
  const before = await column(page, 4);
  await header.getByRole("button").click();
  assert.equal(await header.getAttribute("aria-sort"), "descending");
  const down = await column(page, 4);
  assert.notDeepEqual(down, before);
  await header.getByRole("button").focus();
  await page.keyboard.press("Enter");
  assert.equal(await header.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await column(page, 4), [...down].reverse());
});

test("flows can be filtered", async () => {
  const { page } = await opened("hour");
  await page.locator("#flows input[type=search]").fill("n2 40017");
  assert.equal((await column(page, 0)).length, 1);
  assert.equal(await page.locator("#flows .count").innerText(), "1 of 64 flows");
});

test("the first key leads past the contents, and every place can be reached by keys", async () => {
  const { page } = await opened("small");
  await page.keyboard.press("Tab");
  assert.equal(
    await page.evaluate(() => document.activeElement?.textContent),
    "Skip to the report",
  );
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  for (let presses = 0; presses < 200; ++presses) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.closest("#flows th") !== null)) {
      return;
    }
  }
  assert.fail("no header of the flows was reached");
});

test("a job that exchanges seldom says how seldom", async () => {
  const { page } = await opened("small");
  assert.match(await page.locator("#verdict").innerText(), /Ranks exchange every 4 steps/);
});

test("text can be selected", async () => {
  const { page } = await opened("small");
  const sentence = page.locator(".verdict .sentence");
  const box = await sentence.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 1, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const selected = await page.evaluate(() => getSelection()?.toString() ?? "");
  assert.match(selected, /the link between/i);
});

test("it is dark where the system is, and can be turned", async () => {
  const ground = (page: Page) =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = (await opened("small", { scheme: "dark" })).page;
  const light = (await opened("small", { scheme: "light" })).page;
  const [darkGround, lightGround] = [await ground(dark), await ground(light)];
  assert.notEqual(darkGround, lightGround);
  await light.getByRole("button", { name: "dark colours" }).click();
  assert.equal(await ground(light), darkGround);
});

test("the critical path has a row for each rank, and an arrow to where it goes on", async () => {
  const { page } = await opened("small");
  const path = page.locator("#critical-path");
  assert.deepEqual(await path.locator(".path-rows li").allInnerTexts(), [
    "rank 0\nleft",
    "rank 1\nright",
  ]);
  const [row0, row1] = await path.locator(".path-lane").all();
  const bars = await path.locator(".path-part rect").all();
  const top = async (one: typeof row0) => (await one?.boundingBox())?.y ?? NaN;
  assert.equal(bars.length, 4);
  assert.equal(await top(bars[0]), await top(row1));
  assert.equal(await top(bars[3]), await top(row0));
  assert.equal(await path.locator(".path-arrow").count(), 1);
  const told = await path.locator(".path-drawing > desc").textContent();
  assert.match(told ?? "", /data are under way from rank 1 on right to rank 0: 183 ms, 65 %/);
  assert.match(await path.locator(".path-longest li").first().innerText(), /183 ms, 65 %$/);
});

test("what is unknown is said to be, and is never a zero", async () => {
  const { page } = await opened("empty");
  const facts = await page.locator(".masthead .facts").innerText();
  assert.match(facts, /Steps\s+not measured/);
  assert.doesNotMatch(facts, /\b0\b/);
  assert.match(await page.locator("#accounting").innerText(), /Not measured/);
  assert.match(await page.locator("#critical-path").innerText(), /Not measured/);
});
