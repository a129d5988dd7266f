// Axes that look alike in every chart; the gutter at the left is one, so that times stand below each
// other.
import type uPlot from "uplot";
import { moment } from "../format/times";
import { tick } from "../format/units";
import { colourOf } from "./charts";

export const gutter = (): number => (innerWidth < 700 ? 58 : 92);

export const font = "11px system-ui, sans-serif";

const grid = (): uPlot.Axis.Grid => ({ stroke: () => colourOf("--grid"), width: 1 });

// Decimal below a minute, then as clocks go.
const incrementsOfSeconds = [
  ...[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400],
];

export function timeAxis(hasTimes: boolean): uPlot.Axis {
  return {
    stroke: () => colourOf("--muted"),
    font,
    size: hasTimes ? 26 : 4,
    space: gutter() < 90 ? 68 : 90,
    incrs: [...incrementsOfSeconds],
    grid: grid(),
    ticks: { show: false },
    values: (u, splits) => {
      const { min, max } = u.scales.x as { min: number; max: number };
      return splits.map((at) => (hasTimes ? moment(at, max - min) : ""));
    },
  };
}

export function valueAxis(unit: string | null): uPlot.Axis {
  return {
    stroke: () => colourOf("--muted"),
    font,
    size: gutter,
    space: 26,
    grid: unit === null ? { show: false } : grid(),
    ticks: { show: false },
    values: (_u, splits) => splits.map((at) => (unit === null ? "" : tick(at, unit))),
  };
}
