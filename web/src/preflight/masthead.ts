// Which preflight this is, and its verdict.
import type { Preflight } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { facts, list, note, section } from "../element/parts";
import { said, shown } from "../element/shown";
import { date } from "../format/times";
import type { Scene } from "./scene";

const isWell = (document: Ref<Preflight>): boolean =>
  !["CRITICAL", "WARNING"].includes(document.at("verdict").text ?? "");

export function masthead({ document, mesh }: Scene): HTMLElement {
  const made = document.at("started_at").text;
  return h(
    "header",
    "masthead",
    h("h1", {}, `Preflight of ${mesh.hosts.length} host${mesh.hosts.length === 1 ? "" : "s"}`),
    facts([
      ["Made", made === null ? "not known" : date(made)],
      ["Took", shown(document.at("duration_s"), "s")],
      ["Plan", said(document.at("plan"))],
      ["Pairs tested", shown(document.at("pairs", "count"), "count")],
      ["Led from", said(document.at("host"))],
      ["Program", said(document.at("program"))],
    ]),
  );
}

export function verdictSection({ document, findings }: Scene): HTMLElement {
  const count = (status: string) =>
    findings.filter((each) => each.at("status").text === status).length;
  const counted = ["CRITICAL", "WARNING", "UNKNOWN", "INFO"]
    .filter((status) => count(status) > 0)
    .map((status) => `${count(status)} ${status}`);
  return section(
    { id: "verdict", title: "Verdict" },
    h(
      "div",
      isWell(document) ? "verdict well" : "verdict",
      h("p", "class", said(document.at("verdict"), "unknown")),
      h("p", "sentence", said(document.at("sentence"), "nothing is known")),
      counted.length > 0 ? h("p", "faint", counted.join(", ")) : null,
    ),
    ...unlikeEarlier(document),
  );
}

// Of a history; without one there is nothing to compare with.
function unlikeEarlier(document: Ref<Preflight>): HTMLElement[] {
  const places = document.at("unusual").items;
  const mark = (isWorse: boolean) =>
    h("span", isWorse ? "mark worse" : "mark better", isWorse ? "worse" : "better");
  return places.length === 0
    ? []
    : [
        h("h3", {}, "Unlike earlier preflights"),
        list(
          "ul",
          places.map((each) => [mark(each.at("worse").isTrue), " ", said(each.at("sentence"))]),
          "remarks",
        ),
      ];
}

export function remarksSection({ document, mesh }: Scene): HTMLElement {
  const troubles = document
    .at("troubles")
    .items.map((each) => [
      said(each.at("test")),
      ` between ${mesh.names[each.at("a").number ?? -1] ?? "?"} and ${mesh.names[each.at("b").number ?? -1] ?? "?"}: `,
      said(each.at("error", "reason")),
    ]);
  const told = [
    document.at("sampled").isTrue
      ? [
          "Not every pair was tested: the plan takes a sample ",
          `(--seed ${document.at("seed").number ?? "unknown"} takes the same one).`,
        ]
      : null,
    document.at("interrupted").isTrue ? ["It was interrupted before its end."] : null,
  ].filter((each) => each !== null);
  const leftOut = document.at("left_out").items.map((each) => ["Left out: ", said(each)]);
  const all = [...told, ...leftOut, ...troubles];
  return section(
    { id: "remarks", title: "To know" },
    all.length > 0
      ? list("ul", all, "missing")
      : note("Nothing else."),
  );
}
