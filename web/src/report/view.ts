// The view "report": all of one run, the verdict first.
import { accountingSection } from "../accounting/section";
import { flowsOf } from "../document/flow";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { inTurn } from "../element/schedule";
import { followReading, shell } from "../element/shell";
import { hostsSection } from "../hosts/section";
import { rangeOf, selectionOf, timelineSection } from "../timeline/section";
import { criticalPathSection } from "./critical_path";
import { flowsSection } from "./flows";
import { masthead, runName } from "./masthead";
import { matrixTable } from "./matrix";
import { pathsSection } from "./paths";
import { missingSection, sourcesSection } from "./sources";
import { verdictSection } from "./verdict";

const places = [
  { id: "verdict", title: "Verdict" },
  { id: "accounting", title: "Where the time goes" },
  { id: "critical-path", title: "What decides a step" },
  { id: "timeline", title: "Timeline" },
  { id: "flows", title: "Flows" },
  { id: "hosts", title: "Hosts" },
  { id: "paths", title: "Paths and probes" },
  { id: "missing", title: "Not measured" },
  { id: "sources", title: "Sources" },
];

export function drawReport(report: Ref<Report>, ready: () => void): void {
  const { main } = shell(runName(report), places);
  main.append(masthead(report), verdictSection(report));
  const flows = flowsOf(report);
  const range = rangeOf(report.at("timeline"));
  const selection = selectionOf(report, flows);
  const parts: (() => HTMLElement)[] = [
    () => accountingSection(report, range),
    () => criticalPathSection(report),
    () => timelineSection({ report, range, selection, flows }),
    () => flowsSection(flows, selection, matrixTable(report.at("matrix"))),
    () => hostsSection(report),
    () => pathsSection(report),
    () => missingSection(report),
    () => sourcesSection(report),
  ];
  inTurn(
    parts.map((part) => () => main.append(part())),
    () => {
      followReading();
      ready();
    },
  );
}
