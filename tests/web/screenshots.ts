// usage: screenshots OUT PAGE.html…: each page at 1280 and 390 pixels, light and dark: what is seen
// first, the whole of it, and what each section begins with; and as a printer has it.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { launch, open } from "./browser";

const [out = "", ...pages] = process.argv.slice(2);
const views = [
  { name: "wide-light", width: 1280, height: 900, scheme: "light" },
  { name: "wide-dark", width: 1280, height: 900, scheme: "dark" },
  { name: "narrow-light", width: 390, height: 844, scheme: "light" },
  { name: "narrow-dark", width: 390, height: 844, scheme: "dark" },
] as const;

type View = (typeof views)[number];

// Charts are drawn when one comes near them, so the window becomes as high as the page.
async function unroll(page: Page, width: number): Promise<void> {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width, height: Math.min(height, 14000) });
  await page.waitForTimeout(1000);
}

async function print(page: Page, view: View, path: string): Promise<void> {
  await page.setViewportSize({ width: view.width, height: view.height });
  await page.pdf({ path, format: "A4" });
}

async function pictures(page: Page, view: View, name: string): Promise<void> {
  const file = (part: string) => join(out, `${name}-${view.name}${part}`);
  await page.waitForTimeout(300);
  await page.screenshot({ path: file("-first.png") });
  await unroll(page, view.width);
  await page.screenshot({ path: file(".png"), fullPage: true });
  for (const section of await page.locator(".section").all()) {
    const box = await section.boundingBox();
    if (box) {
      const clip = { ...box, height: Math.min(box.height, view.height) };
      const id = await section.getAttribute("id");
      await page.screenshot({ path: file(`-${id}.png`), clip, fullPage: true });
    }
  }
  if (view.name === "wide-light") {
    await print(page, view, join(out, `${name}.pdf`));
  }
}

async function main(): Promise<void> {
  mkdirSync(out, { recursive: true });
  const browser = await launch();
  for (const file of pages) {
    for (const view of views) {
      const { page, complaints } = await open(browser, file, view);
      await pictures(page, view, basename(file, ".html"));
      complaints.forEach((each) => process.stderr.write(`${file} ${view.name}: ${each}\n`));
      await page.context().close();
    }
  }
  await browser.close();
}

void main();
