// usage: screenshots OUT PAGE.html…: each page at 1280 and 390 pixels, light and dark, the whole of it
// and what is seen first, and as a printer has it.
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { launch, open } from "./browser";

const [out = "", ...pages] = process.argv.slice(2);
const views = [
  { name: "wide-light", width: 1280, height: 900, scheme: "light" },
  { name: "wide-dark", width: 1280, height: 900, scheme: "dark" },
  { name: "narrow-light", width: 390, height: 844, scheme: "light" },
  { name: "narrow-dark", width: 390, height: 844, scheme: "dark" },
] as const;

async function main(): Promise<void> {
  mkdirSync(out, { recursive: true });
  const browser = await launch();
  for (const file of pages) {
    const name = basename(file, ".html");
    for (const view of views) {
      const { page, complaints } = await open(browser, file, view);
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(out, `${name}-${view.name}-first.png`) });
      // Charts are drawn when one comes near them.
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      await page.setViewportSize({ width: view.width, height: Math.min(height, 12000) });
      await page.waitForTimeout(1500);
      await page.screenshot({ path: join(out, `${name}-${view.name}.png`), fullPage: true });
      complaints.forEach((each) => process.stderr.write(`${name} ${view.name}: ${each}\n`));
      if (view.name === "wide-light") {
        await page.setViewportSize({ width: view.width, height: view.height });
        await page.pdf({ path: join(out, `${name}.pdf`), preferCSSPageSize: false, format: "A4", printBackground: false });
      }
      await page.context().close();
    }
  }
  await browser.close();
}

void main();
