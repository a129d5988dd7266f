// A browser for the tests: Debian's chromium, which opens files and reaches nothing else.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";

const program = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch(): Promise<Browser> {
  if (!existsSync(program)) {
    process.stderr.write("skipped: chromium is missing: ./scripts/setup test installs it\n");
    process.exit(77);
  }
  const args = ["--disable-gpu", "--font-render-hinting=none"];
  return chromium.launch({
    executablePath: program,
    args: process.getuid?.() === 0 ? ["--no-sandbox", ...args] : args,
  });
}

export interface View {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly scale?: number;
  readonly init?: () => void; // run in the page before its own script
}

export interface Opened {
  readonly page: Page;
  readonly requests: string[]; // what the page asked for beside itself
  readonly complaints: string[]; // errors, on the console or thrown, and dialogs
}

// `file`: or the address of a page that is served; it may ask its server.
export async function open(browser: Browser, file: string, view: View = {}): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: view.width ?? 1280, height: view.height ?? 900 },
    colorScheme: view.scheme ?? "light",
    deviceScaleFactor: view.scale ?? 1,
  });
  const page = await context.newPage();
  if (view.init) {
    await page.addInitScript(view.init);
  }
  const isServed = file.startsWith("http://");
  const url = isServed ? file : pathToFileURL(file).href;
  const own = isServed ? new URL(url).origin : null;
  const opened: Opened = { page, requests: [], complaints: [] };
  await context.route("**", (route) => {
    const asked = route.request().url();
    if (asked === url || (own && new URL(asked).origin === own)) {
      return route.continue();
    }
    opened.requests.push(asked);
    return route.abort();
  });
  page.on("pageerror", (error) => opened.complaints.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      opened.complaints.push(message.text());
    }
  });
  page.on("dialog", (dialog) => {
    opened.complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  await page.waitForFunction(() => document.documentElement.dataset.ready === "true");
  return opened;
}

// A folder for one test's files.
export function folder(): { path: (name: string, content: string) => string; remove: () => void } {
  const there = mkdtempSync(join(tmpdir(), "chokepoint-web-"));
  return {
    path: (name, content) => {
      const file = join(there, name);
      writeFileSync(file, content);
      return file;
    },
    remove: () => rmSync(there, { recursive: true, force: true }),
  };
}
