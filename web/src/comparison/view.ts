// The view "comparison": many runs side by side, what differs first.
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { facts, list, note, section } from "../element/parts";
import { inTurn } from "../element/schedule";
import { followReading, shell } from "../element/shell";
import { said, shown } from "../element/shown";
import { date } from "../format/times";
import { Table } from "../table/table";
import { accountBars } from "./accounts";
import { barChart, legendOf } from "./bars";
import { clusterOf, drawable, figuresOf, groupsOf, type Figure, type Group } from "./model";
import { runsTable } from "./runs";
import { groupsTable } from "./table";

const places = [
  { id: "differences", title: "What differs" },
  { id: "table", title: "Table" },
  { id: "hosts", title: "Hosts" },
  { id: "bars", title: "Figures" },
  { id: "accounts", title: "Where the time goes" },
  { id: "runs", title: "Runs" },
  { id: "remarks", title: "To know" },
];

interface Scene {
  readonly document: Ref;
  readonly figures: readonly Figure[];
  readonly groups: readonly Group[];
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

const isOfProbes = (document: Ref): boolean => document.at("of").text === "probes";
const wordOf = (document: Ref): string => (isOfProbes(document) ? "test" : "run");

function masthead({ document, figures, groups }: Scene): HTMLElement {
  const metric = figures.find((each) => each.key === document.at("metric").text);
  const made = document.at("started_at").text;
  return h(
    "header",
    "masthead",
    h("h1", {}, `${plural(document.at("runs").items.length, wordOf(document))} side by side`),
    facts([
      ["Rows", plural(groups.length, "row")],
      ["A row is", document.at("by").texts.join(", ") || "one run"],
      ["Tested", metric?.title ?? "nothing"],
      ["Confidence", shown(document.at("confidence"), "share")],
      ["Made", made ? date(made) : "not known"],
    ]),
  );
}

function differences({ document, groups }: Scene): HTMLElement {
  const told = groups.filter((group) => group.ref.at("difference", "sentence").text);
  const beyond = told.filter((group) => group.ref.at("difference", "is_beyond_noise").isTrue);
  const rest = told.filter((group) => !beyond.includes(group));
  const worse = document.at("regressions").items.length;
  const words =
    beyond.length === 0
      ? "Nothing differs beyond noise"
      : worse > 0
        ? `${plural(worse, "row")} worse than the baseline, beyond noise`
        : "Better than the baseline, beyond noise";
  const sentences = (of: readonly Group[]) =>
    list(
      "ul",
      of.map((group) => [said(group.ref.at("difference", "sentence"))]),
      "missing",
    );
  return section(
    { id: "differences", title: "What differs" },
    told.length === 0
      ? note("There is nothing to test: no row has a baseline to compare with.")
      : h(
          "div",
          worse > 0 ? "verdict" : "verdict well",
          h("p", "sentence", words),
          beyond.length > 0 ? sentences(beyond) : null,
        ),
    rest.length > 0 ? h("div", "stack", h("h3", {}, "No more than noise"), sentences(rest)) : null,
  );
}

// Facts about the hosts that a row and its baseline differ in: rows with the same ones together.
function hostFacts({ groups }: Scene): HTMLElement {
  const rows = groups.flatMap((group) =>
    group.ref
      .at("difference", "host_facts")
      .items.map((fact) => ({ group, fact })),
  );
  return section(
    { id: "hosts", title: "Host facts that differ" },
    rows.length === 0
      ? note("The hosts of no row were set up otherwise than those of its baseline, as far as is known.")
      : new Table<(typeof rows)[number]>({
          label: "host facts that differ",
          rows,
          columns: [
            { title: "Row", cell: (row) => row.group.name, value: (row) => row.group.name },
            { title: "Hosts", cell: (row) => row.fact.at("hosts").texts.join(", ") },
            {
              title: "What",
              cell: (row) => said(row.fact.at("subject")),
              value: (row) => row.fact.at("subject").text,
            },
            { title: "Key", cell: (row) => said(row.fact.at("key")) },
            { title: "Baseline", cell: (row) => said(row.fact.at("before")) },
            { title: "Row's", cell: (row) => said(row.fact.at("after")) },
          ],
        }).element,
  );
}

function bars({ document, figures, groups }: Scene): HTMLElement {
  const shownKeys = document.at("shown").texts;
  const cluster = clusterOf(document, groups);
  const charts = drawable(figures, groups).filter((figure) => shownKeys.includes(figure.key));
  return section(
    {
      id: "bars",
      title: "Figures",
      lead: "Means; the line at a bar's end is one standard deviation of its repetitions, up and down.",
    },
    legendOf(cluster),
    charts.length > 0
      ? h("div", "bar-figures", ...charts.map((figure) => barChart(figure, cluster)))
      : note("No figure is known for two rows or more."),
  );
}

function accounts({ groups }: Scene): HTMLElement {
  return section(
    { id: "accounts", title: "Where the time of a step goes" },
    accountBars(groups) ?? note("No row's steps are known."),
  );
}

function remarks({ document }: Scene): HTMLElement {
  const items = document.at("remarks").items.map((each) => [said(each)]);
  const left = document
    .at("left_out")
    .items.map((each) => [said(each.at("path")), ": ", said(each.at("reason"))]);
  return section(
    { id: "remarks", title: "To know" },
    items.length > 0 ? list("ul", items, "missing") : note("Nothing else."),
    left.length > 0
      ? h("div", "stack", h("h3", {}, "Left out"), list("ul", left, "missing"))
      : null,
  );
}

export function drawComparison(document: Ref, ready: () => void): void {
  const scene = { document, figures: figuresOf(document), groups: groupsOf(document) };
  const { figures, groups } = scene;
  const { main } = shell(
    "comparison",
    places.filter((place) => place.id !== "accounts" || !isOfProbes(document)),
  );
  main.append(masthead(scene), differences(scene));
  const parts: (() => HTMLElement)[] = [
    () => section({ id: "table", title: "Table" }, groupsTable(document, figures, groups)),
    () => hostFacts(scene),
    () => bars(scene),
    ...(isOfProbes(document) ? [] : [() => accounts(scene)]),
    () => section({ id: "runs", title: "Runs" }, runsTable(document, figures, groups)),
    () => remarks(scene),
  ];
  inTurn(
    parts.map((part) => () => main.append(part())),
    () => {
      followReading();
      ready();
    },
  );
}
