// How long a page takes from its opening to its first paint and until it can be used: a line of JSON
// for each of five times.
import { launch, open } from "./browser";

const repetitions = 5;

async function main(): Promise<void> {
  const browser = await launch();
  for (let repetition = 0; repetition < repetitions; ++repetition) {
    const { page } = await open(browser, process.argv[2] ?? "");
    const times = await page.evaluate(() => ({
      first_paint_ms: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
      loaded_ms: performance.getEntriesByType("navigation")[0]?.duration ?? null,
    }));
    console.log(JSON.stringify(times));
    await page.context().close();
  }
  await browser.close();
}

void main();
