// The runs of a folder, each with its report, which the server makes when it is asked for.
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { facts, note, section } from "../element/parts";
import { cell, said } from "../element/shown";
import { date } from "../format/times";
import { Table } from "../table/table";
import { toReport } from "./address";

// Its name in the folder.
function nameOf(run: Ref, folder: string): string {
  const path = run.at("run").text ?? "";
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

function report(run: Ref): Child {
  const path = run.at("run").text ?? "";
  return run.at("trouble").text !== null
    ? null
    : h("a", { attributes: { href: toReport(path), target: "_blank", rel: "noopener" } }, "Report");
}

function verdict(run: Ref): Child {
  const trouble = run.at("trouble").text;
  return trouble !== null
    ? h("span", "faint", said(run.at("trouble")))
    : said(run.at("sentence").isKnown ? run.at("sentence") : run.at("verdict"));
}

export function runsView(document: Ref): HTMLElement[] {
  const folder = document.at("folder").text ?? "";
  const runs = document.at("runs").items;
  const going = runs.filter((run) => run.at("state").text === "running").length;
  const table = new Table<Ref>({
    label: "runs",
    rows: runs,
    rowName: (run) => (run.at("trouble").text === null ? "" : "faint"),
    columns: [
      { title: "Run", cell: (run) => nameOf(run, folder), value: (run) => nameOf(run, folder) },
      { title: "", cell: report },
      {
        title: "Began (UTC)",
        cell: (run) => date(run.at("started_at").text ?? "–").replace(/ UTC$/, ""),
        value: (run) => run.at("started_at").text,
      },
      { title: "State", cell: (run) => said(run.at("state")), value: (run) => run.at("state").text },
      {
        title: "Nodes",
        isNumber: true,
        cell: (run) => String(run.at("nodes").items.length),
        value: (run) => run.at("nodes").items.length,
      },
      { title: "Steps", isNumber: true, cell: (run) => cell(run.at("steps"), "count"), value: (run) => run.at("steps").number },
      { title: "A step", isNumber: true, cell: (run) => cell(run.at("step_ms"), "step_ms"), value: (run) => run.at("step_ms").number },
      { title: "Verdict", isWide: true, cell: verdict, value: (run) => run.at("verdict").text },
      { title: "Command", isWide: true, name: "long", cell: (run) => said(run.at("command")), value: (run) => run.at("command").text },
    ],
  });
  return [
    h(
      "header",
      "masthead",
      h("h1", {}, "Runs"),
      facts([
        ["Folder", said(document.at("folder"))],
        ["Runs", String(runs.length)],
        ["Running now", going > 0 ? h("a", { attributes: { href: "#live" } }, String(going)) : "none"],
      ]),
    ),
    section(
      { id: "list", title: "The newest first" },
      runs.length > 0 ? table.element : note("There is no run in this folder."),
    ),
  ];
}
