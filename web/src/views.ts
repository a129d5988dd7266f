// Which part of the bundle draws a page, by the name of its view.
import { drawComparison } from "./comparison/view";
import type { Ref } from "./document/ref";
import { drawFleet } from "./fleet/view";
import { drawPreflight } from "./preflight/view";
import { drawReport } from "./report/view";

export type View = (document: Ref, ready: () => void) => void;

export const views: Readonly<Record<string, View>> = {
  report: drawReport,
  comparison: drawComparison,
  preflight: drawPreflight,
  fleet: drawFleet,
};
