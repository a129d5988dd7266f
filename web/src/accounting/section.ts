// Where the time of a step goes: the mean step, and each one.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { note, section } from "../element/parts";
import { said } from "../element/shown";
import { ranksTable } from "./ranks";
import { stepChart } from "./step_chart";
import { steerByKeys, steerByTouch, steerByWheel } from "../timeline/steering";
import type { TimeRange } from "../timeline/time_range";
import { sharesOf, sharesTable, totalBar } from "./total_bar";

function steerable(chart: HTMLElement, range: TimeRange): HTMLElement {
  const label = "each step by account; plus and minus zoom, arrows move, 0 shows all";
  const box = h(
    "div",
    { class: "charts", attributes: { tabindex: 0, role: "group", "aria-label": label } },
    chart,
  );
  steerByKeys(box, range);
  steerByWheel(box, range);
  steerByTouch(box, range);
  return box;
}

export function accountingSection(report: Ref<Report>, range: TimeRange): HTMLElement {
  const accounting = report.at("accounting");
  const text = { id: "accounting", title: "Where the time of a step goes" };
  if (!accounting.isKnown) {
    return section(
      text,
      note("Not measured: too little is known of the steps of this run, so there is nothing to account for."),
    );
  }
  const shares = sharesOf(accounting);
  const chart = stepChart(accounting, report.at("timeline", "steps", "all"), range);
  return section(
    text,
    totalBar(shares),
    sharesTable(shares),
    chart ? steerable(chart, range) : null,
    ranksTable(report.at("diagnosis", "ranks").items),
    accounting.at("source").text
      ? h("p", "source", "Source: ", said(accounting.at("source")))
      : null,
  );
}
