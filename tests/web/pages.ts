// Pages of made documents, written by the program that the tests are given.
import { spawnSync } from "node:child_process";
import { folder } from "./browser";
import { comparison } from "./made/comparison";
import { empty, report } from "./made/report";
import { hostile, hour, small } from "./made/shape";

export const documents = {
  small: () => report(small),
  hour: () => report(hour),
  hostile: () => report(hostile),
  empty: () => empty(),
  comparison: () => comparison(),
};

export type Kind = keyof typeof documents;

const writer = process.argv[2] ?? "";
const files = folder();
process.on("exit", () => files.remove());

export function writePage(view: string, document: object): string {
  const done = spawnSync(writer, [view], { input: JSON.stringify(document), maxBuffer: 1 << 28 });
  if (done.status === 77) {
    process.stderr.write(`skipped: ${done.stderr.toString()}`);
    process.exit(77);
  }
  if (done.status !== 0) {
    throw new Error(`${writer}: ${done.stderr?.toString() ?? done.error}`);
  }
  return files.path("page.html", done.stdout.toString());
}

export const viewOf = (kind: Kind): string => (kind === "comparison" ? "comparison" : "report");

export const pageOf = (kind: Kind): string => writePage(viewOf(kind), documents[kind]());
