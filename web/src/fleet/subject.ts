// One subject over time: a chart for each of its series, what each change was, and the settings that
// changed on its hosts.
import type { WebSubject } from "../document/documents";
import type { Ref } from "../document/ref";
import { command } from "../element/command";
import { h, type Child } from "../element/h";
import { facts, note, section } from "../element/parts";
import { said, shown } from "../element/shown";
import { grouped } from "../format/scaled";
import { date } from "../format/times";
import { Table } from "../table/table";
import { toReport, toSubject, type Where } from "./address";
import { seriesChart, type Series, type Setting } from "./series_chart";
import { compareCommand, percentText } from "./words";

type Change = Ref<WebSubject["series"][number]["changes"][number]>;

const probability = (p: number): string => (p < 1e-12 ? "below 1e-12" : p.toPrecision(2));

function change(each: Change, unit: string): HTMLElement {
  const percent = each.at("percent").number;
  const compare = compareCommand(each.at("source_before").text, each.at("source_after").text);
  return h(
    "li",
    {},
    h(
      "p",
      {},
      h("strong", {}, shown(each.at("before"), unit), " → ", shown(each.at("after"), unit)),
      percent === null ? null : ` (${percentText(percent)}) `,
      h("span", each.at("worse").isTrue ? "mark worse" : "mark better", each.at("worse").isTrue ? "worse" : "better"),
      `, after ${date(each.at("last_good").text ?? "")} and by ${date(each.at("first_bad").text ?? "")}; p `,
      probability(each.at("p").number ?? 1),
    ),
    compare === null ? null : command(compare),
    reports(each),
  );
}

// Those that this server can make.
function reports(each: Change): Child {
  const link = (run: string | null, label: string): Child =>
    run === null ? null : h("a", { attributes: { href: toReport(run), target: "_blank", rel: "noopener" } }, label);
  const before = link(each.at("run_before").text, "Report of the run before");
  const after = link(each.at("run_after").text, "Report of the run after");
  return before === null && after === null ? null : h("p", "faint", before, before && after ? " · " : null, after);
}

function isOn(setting: Setting, series: Series): boolean {
  const subject = series.at("subject").text ?? "";
  const host = setting.at("host").text ?? "";
  return subject === host || subject.startsWith(`${host} `) || subject.endsWith(` > ${host}`);
}

function figure(series: Series, settings: readonly Setting[], whole: string): HTMLElement {
  const subject = series.at("subject").text ?? "";
  const changes = series.at("changes").items;
  const unit = series.at("unit").text ?? "";
  return h(
    "figure",
    "series",
    h(
      "figcaption",
      {},
      h("h3", {}, series.at("title").text ?? ""),
      subject === whole ? null : h("a", { attributes: { href: toSubject(subject) } }, subject),
      h("span", "faint", series.at("setting").text ?? ""),
      h("span", "faint", `${grouped(series.at("points").number ?? 0)} measurements`),
    ),
    seriesChart(series, settings.filter((each) => isOn(each, series))),
    changes.length === 0 ? null : h("ul", "remarks", ...changes.map((each) => change(each, unit))),
  );
}

function settingsTable(settings: readonly Setting[]): Child {
  return settings.length === 0
    ? note("No setting that is known changed on its hosts.")
    : new Table<Setting>({
        label: "settings that changed",
        rows: settings,
        sort: { column: 0, direction: "descending" },
        columns: [
          {
            title: "Seen since",
            cell: (each) => date(each.at("first_seen").text ?? ""),
            value: (each) => each.at("first_seen").text,
          },
          { title: "Host", cell: (each) => said(each.at("host")), value: (each) => each.at("host").text },
          { title: "Setting", cell: (each) => said(each.at("name")), value: (each) => each.at("name").text },
          { title: "Before", cell: (each) => said(each.at("before")) },
          { title: "After", cell: (each) => said(each.at("after")) },
        ],
      }).element;
}

export function subjectView(document: Ref<WebSubject>, where: Where): HTMLElement[] {
  const series = document.at("series").items;
  const settings = document.at("settings").items;
  const changed = series.filter((each) => each.at("changes").items.length > 0);
  const steady = series.filter((each) => each.at("changes").items.length === 0);
  const left = document.at("left_out").number ?? 0;
  const charts = (of: readonly Series[]) => of.map((each) => figure(each, settings, where.subject));
  const masthead = h(
    "header",
    "masthead",
    h("p", {}, h("a", { attributes: { href: "#hosts" } }, "← Hosts")),
    h("h1", {}, where.subject),
    facts([
      ["Series", grouped(series.length + left)],
      ["With a change", grouped(changed.length)],
      ["Settings that changed", grouped(settings.length)],
    ]),
    where.metric === ""
      ? null
      : h("p", {}, `${where.metric} alone. `, h("a", { attributes: { href: toSubject(where.subject) } }, "All its figures")),
  );
  return [
    masthead,
    ...(changed.length > 0
      ? [
          section(
            {
              id: "changed",
              title: "What changed",
              lead: "Lines across: the level before and after. Dashed: the first measurement of a new level. Dotted: a setting changed.",
            },
            ...charts(changed),
          ),
        ]
      : []),
    section(
      { id: "settings", title: "Settings that changed" },
      settingsTable(settings),
    ),
    ...(steady.length > 0
      ? [section({ id: "steady", title: "What did not change" }, ...charts(steady))]
      : []),
    ...(left > 0 ? [note(`${grouped(left)} more series and settings are left out: choose a figure, or a path.`)] : []),
  ];
}
