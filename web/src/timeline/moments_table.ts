// The moments as a list, each leading to its place in the timeline.
import { h } from "../element/h";
import { said } from "../element/shown";
import { moment } from "../format/times";
import { Table } from "../table/table";
import type { Moment } from "./overlay";
import type { TimeRange } from "./time_range";

// Near enough to see what came before and after.
export function goTo(range: TimeRange, at: Moment): void {
  const lasted = (at.end ?? at.start) - at.start;
  const all = range.all.to - range.all.from;
  const around = Math.min(Math.max(lasted, all / 100, 0.2), all / 2);
  range.show(at.start - around, at.start + lasted + around);
}

export function momentsTable(
  moments: readonly Moment[],
  range: TimeRange,
  charts: HTMLElement,
): HTMLElement {
  const when = (each: Moment) => {
    const text = moment(each.start, 5);
    const button = h(
      "button",
      {
        class: "link",
        attributes: { type: "button", title: "show it in the timeline" },
        data: { moment: each.ref.pointer },
      },
      text,
    );
    button.addEventListener("click", () => {
      goTo(range, each);
      charts.scrollIntoView({ block: "start" });
      charts.focus({ preventScroll: true });
    });
    return button;
  };
  const text = (key: string) => (each: Moment) => each.ref.at(key).text;
  return new Table<Moment>({
    label: "moments of evidence and events",
    rows: moments,
    rowName: (each) => (each.isEvidence ? "is-evidence" : ""),
    columns: [
      {
        title: "No.",
        isNumber: true,
        cell: (each) => String(each.number),
        value: (each) => each.number,
      },
      { title: "When", isNumber: true, cell: when, value: (each) => each.start },
      { title: "Node", cell: (each) => said(each.ref.at("node"), "all"), value: text("node") },
      { title: "Kind", cell: (each) => said(each.ref.at("kind")), value: text("kind") },
      {
        title: "What",
        isWide: true,
        cell: (each) =>
          h(
            "span",
            {},
            said(each.ref.at("what")),
            each.ref.at("detail").text ? h("small", {}, said(each.ref.at("detail"))) : null,
          ),
        value: text("what"),
      },
      { title: "Source", cell: (each) => said(each.ref.at("source")), value: text("source") },
    ],
  }).element;
}
