// The run that goes on now: the verdict so far and its nodes.
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { facts, note, section } from "../element/parts";
import { cell, said, shown } from "../element/shown";
import { Table } from "../table/table";

function verdict(document: Ref): HTMLElement {
  const diagnosis = document.at("diagnosis");
  const found = diagnosis.at("verdict");
  return diagnosis.isKnown
    ? h(
        "div",
        found.at("class").text === "compute" ? "verdict well" : "verdict",
        h("p", "class", said(found.at("class"))),
        h("p", "sentence", said(found.at("sentence"))),
      )
    : note("There is no verdict yet: it takes some steps.");
}

// The newest steps of one node as a row of bars.
function steps(node: Ref): HTMLElement {
  const all = node.at("recent_ms").numbers.filter((each) => each !== null) as number[];
  const most = Math.max(...all, 1e-9);
  return h(
    "span",
    { class: "recent", attributes: { role: "img", "aria-label": `the newest ${all.length} steps` } },
    ...all.slice(-32).map((each) => h("span", { variables: { "--share": String(each / most) } })),
  );
}

export function liveView(document: Ref): HTMLElement[] {
  const nodes = document.at("nodes").items;
  const steps_ = document.at("diagnosis", "steps");
  const number = (title: string, key: string, unit: string) => ({
    title,
    isNumber: true,
    cell: (node: Ref) => cell(node.at(key), unit),
    value: (node: Ref) => node.at(key).number,
  });
  const table = new Table<Ref>({
    label: "nodes",
    rows: nodes,
    columns: [
      { title: "Node", cell: (node) => said(node.at("node")), value: (node) => node.at("node").text },
      {
        title: "State",
        cell: (node) => h("span", {}, said(node.at("state")), node.at("trouble").text === null ? null : h("small", {}, said(node.at("trouble")))),
        value: (node) => node.at("state").text,
      },
      number("Step", "step", "count"),
      number("Newest", "step_ms", "step_ms"),
      number("Median", "median_ms", "step_ms"),
      { title: "Newest steps", cell: steps },
      number("Stands still", "stalled_s", "s"),
      number("Sent", "sent_mbps", "mbps"),
      number("Received", "received_mbps", "mbps"),
      number("Retransmitted", "retransmitted_percent", "percent"),
      number("Round trip", "rtt_ms", "ms"),
      number("Busiest core", "core_percent", "percent"),
      number("GPUs", "gpu_percent", "percent"),
    ],
  });
  return [
    h(
      "header",
      "masthead",
      h("h1", {}, "Now"),
      facts([
        ["Run", said(document.at("run"))],
        ["Steps", shown(steps_.at("count"), "count")],
        ["A step", shown(steps_.at("mean_ms"), "step_ms")],
      ]),
    ),
    section({ id: "so-far", title: "So far" }, verdict(document)),
    section({ id: "nodes", title: "Nodes" }, table.element),
  ];
}
