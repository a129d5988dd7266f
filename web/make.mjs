// usage: node make.mjs MODULES OUT: page.js and page.css of src/, into OUT.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2);
const web = dirname(fileURLToPath(import.meta.url));
const { buildSync } = createRequire(join(modules, "package.json"))("esbuild");

// What is built in keeps its licence.
const licence = readFileSync(join(modules, "node_modules/uplot/LICENSE"), "utf8");

buildSync({
  entryPoints: { page: join(web, "src/main.ts") },
  outdir: out,
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  nodePaths: [join(modules, "node_modules")],
  banner: { js: `/*! With uPlot:\n${licence.replaceAll("*/", "* /")}*/` },
  logLevel: "warning",
});
