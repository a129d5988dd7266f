// `chokepoint web` over a made history and a run, for tests in a browser.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const hour = 3600e3;
const hours = 60;
const changed = 40; // hours; from then on what host c sends is slower

export const hostileName = '<img src=x onerror="globalThis.broken=1">';

export interface Served {
  readonly url: string;
  readonly folder: string;
  readonly end: () => Promise<number | null>;
}

function probe(from: string, to: string, at: number, mbps: number, driver: string): object {
  return {
    schema: "chokepoint.probe.tcp/1",
    host: from,
    started_at: new Date(at).toISOString().replace(/\.\d+Z/, "Z"),
    peer: { host: to },
    direction: "send",
    streams: 1,
    throughput_mbps: mbps,
    host_facts: { own: { gpu: { driver } } },
  };
}

function writeProbes(folder: string): void {
  const hosts = ["a", "b", "c", "d", hostileName];
  const begin = Math.floor(Date.now() / hour) * hour - hours * hour;
  for (let at = 0; at < hours; at++) {
    hosts.forEach((from, index) => {
      const to = hosts[(index + 1) % hosts.length] ?? "";
      const isSlow = from === "c" && at >= changed;
      const mbps = (isSlow ? 600 : 940) + ((at * 7 + index) % 5);
      const document = probe(from, to, begin + at * hour, mbps, isSlow ? "570" : "550");
      writeFileSync(join(folder, `p${at}-${index}.json`), JSON.stringify(document));
    });
  }
}

function must(program: string, words: readonly string[], folder: string): void {
  const done = spawnSync(program, words, { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) {
    throw new Error(`${words.join(" ")}: ${done.stderr}${done.error ?? ""}`);
  }
}

function firstLine(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    server.stdout?.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (text.includes("\n")) {
        resolve(text.slice(0, text.indexOf("\n")));
      }
    });
    server.on("exit", (code) => reject(new Error(`chokepoint web: exit code ${code}`)));
  });
}

export async function serve(
  program: string,
  words: readonly string[] = [],
  token = "",
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "chokepoint-web-"));
  mkdirSync(join(folder, "probes"));
  writeProbes(join(folder, "probes"));
  must("sh", ["-c", `"$0" history add --quiet --history h.db probes/*.json`, program], folder);
  must("sh", ["-c", `"$0" run -q --no-history --out runs/one --node n --step-regex 'epoch (?P<step>[0-9]+)' -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo epoch $i; sleep 0.05; done' >/dev/null`, program], folder);
  if (token) {
    writeFileSync(join(folder, "token"), token, { mode: 0o600 });
  }
  const server = spawn(
    program,
    [
      ...["web", "--quiet", "--history", "h.db", "--runs", "runs", "--port", "0"],
      ...(token ? ["--token-file", "token"] : []),
      ...words,
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
  );
  const url = await firstLine(server);
  return {
    url,
    folder,
    end: () =>
      new Promise((resolve) => {
        server.on("exit", (code) => {
          rmSync(folder, { recursive: true, force: true });
          resolve(code);
        });
        server.kill("SIGINT");
      }),
  };
}
