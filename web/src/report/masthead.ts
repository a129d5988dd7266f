// Which run this is.
import type { Report, Run } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { facts, folded } from "../element/parts";
import { command } from "../element/command";
import { said, shown } from "../element/shown";
import { date } from "../format/times";

function labels(summary: Ref<Run>): Child {
  const entries = summary.at("labels").entries;
  return entries.length === 0
    ? null
    : h(
        "ul",
        "labels",
        ...entries.map(([key, value]) => h("li", {}, `${key} `, h("b", {}, said(value)))),
      );
}

// The last part of the folder's name is what people call the run.
export function runName(report: Ref<Report>): string {
  const parts = (report.at("run").text ?? "a run").split("/").filter(Boolean);
  const last = parts[parts.length - 1] ?? "a run";
  return last === "records" && parts.length > 1 ? `${parts[parts.length - 2]}` : last;
}

function when(report: Ref<Report>): Child {
  const origin = report.at("timeline", "origin").text;
  return origin === null
    ? "not measured"
    : h("time", { attributes: { datetime: origin } }, date(origin));
}

function nodes(summary: Ref<Run>): Child {
  const names = summary.at("nodes").items.map((node) => node.at("name").text ?? "");
  return names.length === 0 ? "not measured" : names.join(", ");
}

// What the job's bytes were for.
function purposes(all: readonly Ref[]): Child {
  return all.length === 0
    ? "not measured"
    : h(
        "span",
        {},
        ...all.flatMap((each, at) => [
          at > 0 ? ", " : "",
          said(each.at("words")),
          " ",
          shown(each.at("sent_bytes"), "bytes"),
        ]),
      );
}

export function masthead(report: Ref<Report>): HTMLElement {
  const summary = report.at("summary");
  const steps = summary.at("steps");
  const volume = summary.at("volume");
  const line = summary.at("command").text;
  return h(
    "header",
    "masthead",
    h("h1", {}, runName(report)),
    labels(summary),
    facts([
      ["Began", when(report)],
      ["Lasted", shown(summary.at("duration_s"), "s")],
      ["Nodes", nodes(summary)],
      ["Steps", shown(steps.at("count"), "count")],
      ["Median step", shown(steps.at("median_ms"), "ms")],
      ["Time in steps", said(report.at("diagnosis", "goodput", "sentence"))],
      ["Sent", shown(volume.at("sent_bytes"), "bytes")],
      ["Sent for", purposes(volume.at("purposes").items)],
      ["Network of the busiest node, both directions", shown(volume.at("network_mbps"), "mbps")],
    ]),
    line ? folded("Command", command(line)) : null,
  );
}
