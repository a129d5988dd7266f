// What was not measured and why; and where every number comes from.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { facts, list, note, section } from "../element/parts";
import { said } from "../element/shown";
import { date } from "../format/times";
import { groupName } from "../timeline/panels";
import { Table } from "../table/table";

export function missingSection(report: Ref<Report>): HTMLElement {
  const items = report.at("missing").items;
  return section(
    { id: "missing", title: "What was not measured, and why" },
    items.length > 0
      ? list(
          "ul",
          items.map((each) => [said(each)]),
          "missing",
        )
      : note("Nothing that this program measures is missing."),
  );
}

interface Source {
  readonly what: string;
  readonly from: string;
  readonly count: number;
}

class Sources {
  private readonly counts = new Map<string, number>();

  add(what: string, from: Ref): void {
    for (const text of [from.text, ...from.texts]) {
      if (text) {
        const key = JSON.stringify([what, text]);
        this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
      }
    }
  }

  get rows(): Source[] {
    return [...this.counts].map(([key, count]) => {
      const [what, from] = JSON.parse(key) as [string, string];
      return { what, from, count };
    });
  }
}

function sourcesOf(report: Ref<Report>): Source[] {
  const sources = new Sources();
  const each = (list: Ref, what: (item: Ref) => string) =>
    list.items.forEach((item) => sources.add(what(item), item.at("source")));
  const timeline = report.at("timeline");
  sources.add("steps", timeline.at("steps", "source"));
  sources.add("accounting", report.at("accounting", "source"));
  [report.at("diagnosis", "verdict"), ...report.at("diagnosis", "others").items].forEach(
    (verdict) =>
      verdict.at("evidence").items.forEach((item) => sources.add("evidence", item.at("from"))),
  );
  timeline.at("nodes").items.forEach((node) => sources.add("clock", node.at("clock", "source")));
  each(timeline.at("lanes"), (lane) => `lane: ${lane.at("kind").text ?? ""}`);
  each(timeline.at("tracks"), (track) => `chart: ${groupName(track.at("group").text ?? "")}`);
  each(report.at("moments"), () => "moments");
  each(report.at("flows"), () => "flows");
  sources.add("who talks to whom", report.at("matrix", "source"));
  each(report.at("paths"), () => "paths");
  each(report.at("probes"), () => "probes");
  return sources.rows;
}

export function sourcesSection(report: Ref<Report>): HTMLElement {
  const table = new Table<Source>({
    label: "sources",
    rows: sourcesOf(report),
    columns: [
      { title: "What", cell: (row) => row.what, value: (row) => row.what },
      {
        title: "Where it was read",
        isWide: true,
        cell: (row) => row.from,
        value: (row) => row.from,
      },
      {
        title: "Values or rows",
        isNumber: true,
        cell: (row) => String(row.count),
        value: (row) => row.count,
      },
    ],
  });
  const made = report.at("started_at").text;
  return section(
    { id: "sources", title: "Where every number comes from" },
    table.element,
    facts([
      ["Made by", h("span", {}, "chokepoint ", said(report.at("program"), ""))],
      ["Made on", said(report.at("host"))],
      ["Made at", made ? date(made) : "not known"],
      ["Document", said(report.at("schema"))],
      ["Run", said(report.at("run"))],
    ]),
    note(
      "The document behind this page is what 'chokepoint report --json' prints; it stands in this file.",
    ),
  );
}
