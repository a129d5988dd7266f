// The verdict: in one sentence what holds the job back, what that costs, and what to do.
import type { Diagnosis, Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { command } from "../element/command";
import { h, type Child } from "../element/h";
import { folded, list, section } from "../element/parts";
import { said, shown } from "../element/shown";
import { evidenceTable } from "../table/evidence";

const isWell = (verdict: Ref): boolean => verdict.at("class").text === "compute";

// "182 ms lost in each step of 281 ms, between 140 ms and 224 ms"
function cost(verdict: Ref, steps: Ref): Child {
  const lost = verdict.at("lost_ms_per_step");
  if (lost.number === null) {
    return h("p", "cost", "What it costs was not measured: too little is known of the steps of this run.");
  }
  if (lost.number === 0) {
    return null;
  }
  const mean = steps.at("mean_ms");
  const low = verdict.at("lost_low_ms");
  const high = verdict.at("lost_high_ms");
  return h(
    "p",
    "cost",
    h("strong", {}, shown(lost, "step_ms")),
    " lost in each step",
    mean.number === null ? null : h("span", {}, " of ", shown(mean, "step_ms")),
    low.number === null || low.number === 0
      ? null
      : h("span", {}, ", between ", shown(low, "step_ms"), " and ", shown(high, "step_ms")),
  );
}

function meter(label: string, ref: Ref, unit: string, share: number): HTMLElement {
  return h(
    "div",
    { class: "meter", variables: { "--share": String(Math.min(Math.max(share, 0), 1)) } },
    h("span", "meter-label", label),
    h("span", { class: "meter-bar", attributes: { "aria-hidden": true } }),
    shown(ref, unit),
  );
}

// An advice ends with its command where it has one; the command then stands below it, to be copied.
function adviceItem(text: string, commands: readonly string[]): Child[] {
  const found = commands.find((each) => text.endsWith(each));
  const words = found ? text.slice(0, text.length - found.length).replace(/[:\s]+$/, "") : text;
  return [words === "" ? null : h("p", {}, words), found ? command(found) : null];
}

function advice(verdict: Ref): Child {
  const texts = verdict.at("advice").texts;
  const commands = verdict.at("commands").texts;
  const told = commands.filter((each) => !texts.some((text) => text.endsWith(each)));
  const items = [
    ...texts.map((text) => adviceItem(text, commands)),
    ...told.map((each) => [command(each)]),
  ];
  return items.length > 0 ? h("div", "advice", h("h3", {}, "What to do"), list("ol", items)) : null;
}

function evidence(verdict: Ref): Child {
  const table = evidenceTable(verdict);
  return table ? h("div", "evidence", h("h3", {}, "Why"), table) : null;
}

function disproof(verdict: Ref): Child {
  const ref = verdict.at("disproof");
  return ref.text === null
    ? null
    : h("p", "disproof", h("b", {}, "It would be wrong if "), said(ref), ".");
}

function against(verdict: Ref): Child {
  const ref = verdict.at("against");
  return ref.text === null
    ? null
    : h("p", "disproof", h("b", {}, "Against it: "), said(ref), ". The confidence is lowered by it.");
}

function tested(diagnosis: Ref<Diagnosis>): Child {
  const sentence = diagnosis.at("confirmation", "sentence");
  return sentence.text === null
    ? null
    : h("p", "disproof", h("b", {}, "Tested after the job: "), said(sentence), ".");
}

// Of a job that exchanges in every so many steps only.
function rounds(diagnosis: Ref<Diagnosis>): Child {
  const sentence = diagnosis.at("rounds", "sentence");
  return sentence.text === null
    ? null
    : h("p", "disproof", h("b", {}, "Ranks exchange "), said(sentence), ".");
}

// How a step's time stands against earlier runs of the job.
function before(diagnosis: Ref<Diagnosis>): Child {
  const sentence = diagnosis.at("standing", "sentence");
  return sentence.text === null
    ? null
    : h("p", "disproof", h("b", {}, "Against earlier runs: "), said(sentence), ".");
}

function details(verdict: Ref): Child[] {
  return [against(verdict), advice(verdict), evidence(verdict), disproof(verdict)];
}

function other(verdict: Ref): HTMLElement {
  const lost = verdict.at("lost_ms_per_step");
  const summary = h(
    "span",
    {},
    h("span", "class", said(verdict.at("class"))),
    said(verdict.at("sentence")),
    lost.number ? h("span", "faint", " ", shown(lost, "step_ms"), " a step") : null,
  );
  return folded(summary, ...details(verdict));
}

export function verdictSection(report: Ref<Report>): HTMLElement {
  const diagnosis = report.at("diagnosis");
  const verdict = diagnosis.at("verdict");
  const others = diagnosis.at("others").items;
  const confidence = verdict.at("confidence");
  const share = verdict.at("share_percent");
  return section(
    { id: "verdict", title: "Verdict" },
    h(
      "div",
      isWell(verdict) ? "verdict well" : "verdict",
      h(
        "p",
        "class",
        said(verdict.at("class"), "unknown"),
        verdict.at("cause").text ? h("span", {}, " · ", said(verdict.at("cause"))) : null,
      ),
      h("p", "sentence", said(verdict.at("sentence"), "nothing is known of this run")),
      cost(verdict, diagnosis.at("steps")),
      h(
        "div",
        "meters",
        share.number ? meter("of the step", share, "percent", share.number / 100) : null,
        confidence.number === null ? null : meter("confidence", confidence, "share", confidence.number),
      ),
    ),
    rounds(diagnosis),
    before(diagnosis),
    tested(diagnosis),
    ...details(verdict),
    others.length > 0 ? h("div", "others", h("h3", {}, "Also found"), ...others.map(other)) : null,
  );
}
