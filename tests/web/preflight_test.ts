// The page of a preflight, of clusters that nobody measured (tests/preflight/report).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { folder, launch, open, type Opened, type View } from "./browser";
import { check, numbersOn } from "./numbers";

const maker = process.argv[3] ?? "";
const files = folder();
let browser: Browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser.close();
  files.remove();
});

function made(kind: string, form: string): string {
  const done = spawnSync(maker, [kind, form], { maxBuffer: 1 << 29 });
  if (done.status === 77) {
    process.stderr.write(`skipped: ${done.stdout.toString()}`);
    process.exit(77);
  }
  assert.equal(done.status, 0, done.stderr.toString());
  return done.stdout.toString();
}

const pageOf = (kind: string, view?: View): Promise<Opened> =>
  open(browser, files.path(`${kind}.html`, made(kind, "html")), view);

const isWide = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth;
  });

test("the verdict stands first, then what was found with its commands", async () => {
  const { page, requests, complaints } = await pageOf("four");
  const sections = await page.locator("main .section h2").allInnerTexts();
  assert.deepEqual(sections.slice(0, 3), ["Verdict", "What was found", "Who reaches whom"]);
  assert.match(await page.locator("#verdict").innerText(), /CRITICAL[^]*gpu2 to gpu0: 944 Mb\/s/);
  const found = page.locator("#findings .finding");
  assert.equal(await found.count(), 2);
  assert.match(await found.nth(0).innerText(), /ssh gpu2 ip route get 10\.0\.0\.1/);
  assert.match(await found.nth(1).innerText(), /WARNING[^]*gpu3 eth0/);
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
});

test("what is unlike earlier preflights stands below the verdict", async () => {
  const html = made("four", "html");
  const unusual = [{ sentence: "<b>paths</b> from gpu2: throughput 940 → 600 Mb/s", worse: true, standings: [] }];
  const filled = html.replace(/"unusual":\s*\[\]/, () => `"unusual":${JSON.stringify(unusual).replaceAll("<", "\\u003c")}`);
  assert.notEqual(filled, html);
  const { page } = await open(browser, files.path("unlike.html", filled));
  assert.match(
    await page.locator("#verdict").innerText(),
    /Unlike earlier preflights[^]*worse[^]*<b>paths<\/b> from gpu2/,
  );
});

test("every number is the document's", async () => {
  for (const kind of ["four", "eight", "full"]) {
    const document = JSON.parse(made(kind, "json")) as object;
    const { page } = await pageOf(kind);
    const numbers = await numbersOn(page);
    assert.ok(numbers.length > 30, `only ${numbers.length} numbers`);
    numbers.forEach((each) => check(document, each));
  }
});

test("the map's colour is chosen, and says what it means", async () => {
  const { page } = await pageOf("four");
  const slow = page.locator("#map tbody tr").nth(2).locator("td").nth(0);
  assert.match((await slow.getAttribute("class")) ?? "", /grade-4/);
  assert.equal(await slow.innerText(), "9.4 %");
  assert.match(await page.locator(".grades").innerText(), /80 % of what both links give and more/);
  await page.locator(".metric-chooser select").selectOption("mtu");
  const small = page.locator("#map tbody tr").nth(3).locator("td").nth(0);
  assert.equal(await small.innerText(), "1,500");
  assert.match((await small.getAttribute("class")) ?? "", /grade-3/);
  const options = await page.locator(".metric-chooser option").allInnerTexts();
  assert.ok(options.includes("Loss") && !options.includes("RDMA"), options.join());
});

test("a finding shows its ways, and a way its finding", async () => {
  const { page } = await pageOf("four");
  const show = page.locator("#findings .show").first();
  await show.click();
  assert.equal(await show.getAttribute("aria-pressed"), "true");
  const held = page.locator("#map td.picked");
  assert.equal(await held.count(), 1);
  assert.equal(await held.getAttribute("title"), "gpu2 to gpu0");
  await show.click();
  assert.equal(await held.count(), 0);
  await page.locator("#map tbody tr").nth(3).locator("td").nth(1).click();
  assert.match((await page.locator(".finding.picked").innerText()) ?? "", /mtu\.host/);
  assert.equal(await held.count(), 6);
});

test("the keyboard walks from way to way, and each says its figures", async () => {
  const { page } = await pageOf("four");
  await page.locator('#map td[tabindex="0"]').focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  const figures = page.locator(".way-figures");
  assert.match(await figures.innerText(), /gpu2 to gpu0[^]*Throughput, beside others\s+941 Mb\/s/);
  assert.equal(await figures.getAttribute("aria-live"), "polite");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".finding.picked").innerText(), /throughput\.way/);
});

test("who is not there is said with the reason", async () => {
  const { page } = await pageOf("eight");
  const row = page.locator("#hosts tbody tr", { hasText: "gpu6" });
  assert.match(await row.innerText(), /not reached[^]*no route to host/);
  assert.equal(await page.locator("#map tbody tr").count(), 7);
  assert.match(await page.locator("#together").innerText(), /gpu4 to gpu7[^]*20\.3 Gb\/s of 37\.6/);
  const absent = page.locator(".finding", { hasText: "host.absent" });
  assert.equal(await absent.locator(".show").count(), 0, "there is nothing to show of it");
  assert.match(await page.locator("#remarks").innerText(), /path between gpu2 and gpu5/);
});

test("many hosts are painted, and the keyboard reaches their ways", async () => {
  const { page, complaints } = await pageOf("racks", { scheme: "dark" });
  const canvas = page.locator("#map canvas");
  assert.match((await canvas.getAttribute("aria-label")) ?? "", /Share of expected: 63 hosts/);
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator(".way-figures h3").innerText(), /gpu0 to gpu1/);
  const painted = () => canvas.evaluate((each) => (each as HTMLCanvasElement).toDataURL());
  const before = await painted();
  await page.locator("#findings .show").first().click();
  assert.notEqual(await painted(), before, "the finding's ways do not show");
  assert.deepEqual(complaints, []);
});

test("a thousand hosts are drawn, with less than the document holds", async () => {
  const { page, complaints } = await pageOf("thousand");
  assert.match(await page.locator("#map").innerText(), /rounded to three digits/);
  const canvas = page.locator("#map canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  assert.ok(box && box.width > 300);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 3);
  assert.match(await page.locator(".way-figures").innerText(), /gpu\d+ to gpu\d+[^]*Gb\/s/);
  assert.deepEqual(complaints, []);
});

test("what was not tested is said", async () => {
  const { page } = await pageOf("full");
  const remarks = await page.locator("#remarks").innerText();
  assert.match(remarks, /takes a sample[^]*interrupted[^]*Left out: the collective/);
});

test("nobody there leaves no map, and says so", async () => {
  const { page, complaints } = await pageOf("empty");
  assert.match(await page.locator("#map").innerText(), /No two hosts were tested/);
  assert.match(await page.locator("#hosts").innerText(), /its name leads nowhere/);
  assert.deepEqual(complaints, []);
});

test("nothing wrong is said to be so", async () => {
  const { page } = await pageOf("clean");
  assert.equal(await page.locator(".verdict.well").count(), 1);
  assert.match(await page.locator("#findings").innerText(), /Nothing that is not as it should be/);
});

test("hostile texts stay texts", async () => {
  const { page, requests, complaints } = await pageOf("hostile", { width: 390 });
  await page.locator('#map td[tabindex="0"]').focus();
  await page.locator("#findings .show").first().click();
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
  assert.equal(await page.locator("img, iframe").count(), 0);
  assert.equal(await page.locator("script").count(), 2);
  assert.equal(await page.evaluate(() => (globalThis as { broken?: number }).broken), undefined);
  assert.equal(await isWide(page), false);
});

test("no width makes the page scroll sideways", async () => {
  for (const kind of ["two", "eight", "racks"]) {
    const { page } = await pageOf(kind, { width: 390 });
    assert.equal(await isWide(page), false, kind);
  }
});

test("on paper are the map and all that was found", async () => {
  const { page, complaints } = await pageOf("racks", { scheme: "dark" });
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 10000);
  assert.deepEqual(complaints, []);
});
