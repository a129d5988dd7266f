// The page on paper: all of it, light, and nothing wider than the sheet.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { folder, launch, open } from "./browser";
import { pageOf } from "./pages";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

for (const format of ["A4", "Letter"] as const) {
  test(`${format} has the verdict, what was folded, and every chart`, async (context) => {
    const files = folder();
    const { page, complaints } = await open(browser, pageOf("small"), { scheme: "dark" });
    const path = files.path("page.pdf", "");
    await page.pdf({ path, format });
    assert.deepEqual(complaints, []);
    const drawn = await page.locator(".chart canvas").count();
    assert.equal(drawn, await page.locator(".chart").count());
    assert.equal(await page.locator("details.folded[open]").count(), 0, "folded again afterwards");
    const done = spawnSync("pdftotext", ["-layout", path, "-"]);
    files.remove();
    if (done.error) {
      context.skip("pdftotext is missing: ./scripts/setup test installs it");
      return;
    }
    const text = done.stdout.toString().replaceAll(/\s+/g, " ");
    assert.match(text, /link between left and right \(both directions\) is full/i);
    assert.match(text, /net\.ipv4\.tcp_congestion_control/);
    assert.match(text, /Where every number comes from/);
  });
}

test("printed the moment it is opened it has every section", async () => {
  const { page, complaints } = await open(browser, pageOf("small"), {
    init: () => {
      addEventListener("DOMContentLoaded", () => {
        dispatchEvent(new Event("beforeprint"));
        document.documentElement.dataset.printed = `${document.querySelectorAll("section").length}`;
        dispatchEvent(new Event("afterprint"));
      });
    },
  });
  assert.deepEqual(complaints, []);
  const printed = await page.locator("html").getAttribute("data-printed");
  const sections = await page.locator("section").count();
  assert.ok(sections > 3, `${sections} sections`);
  assert.equal(Number(printed), sections);
});
