// Draws the lanes: a rectangle a span, its name where that fits.
import type uPlot from "uplot";
import { accountOf } from "../accounting/accounts";
import { canvasFill } from "../accounting/pattern";
import { colourOf } from "../chart/charts";
import type { Lane } from "./lane_data";

export const rowHeight = 15;
export const headingHeight = 17;

export interface Row {
  readonly lane: Lane;
  readonly top: number; // CSS pixels from the chart's top
  readonly headingTop: number | null;
}

export function rowsOf(lanes: readonly Lane[]): { rows: Row[]; height: number } {
  let top = 6;
  const rows = lanes.map((lane) => {
    const headingTop = lane.heading === "" ? null : top;
    top += lane.heading === "" ? 0 : headingHeight;
    const row = { lane, top, headingTop };
    top += rowHeight;
    return row;
  });
  return { rows, height: top + 4 };
}

export function lanesHook(rows: readonly Row[]): (u: uPlot) => void {
  return (u) => {
    const ratio = devicePixelRatio;
    u.ctx.save();
    u.ctx.font = `${10.5 * ratio}px system-ui, sans-serif`;
    u.ctx.textBaseline = "middle";
    rows.forEach((row) => drawLabels(u, row, ratio));
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    rows.forEach((row) => drawSpans(u, row, ratio));
    u.ctx.restore();
  };
}

function drawLabels(u: uPlot, row: Row, ratio: number): void {
  const middle = (row.top + rowHeight / 2) * ratio + u.bbox.top;
  u.ctx.fillStyle = colourOf("--muted");
  u.ctx.textAlign = "right";
  u.ctx.fillText(row.lane.label, u.bbox.left - 8 * ratio, middle, u.bbox.left - 10 * ratio);
  if (row.headingTop !== null) {
    u.ctx.fillStyle = colourOf("--ink");
    u.ctx.textAlign = "left";
    const at = (row.headingTop + headingHeight / 2 + 1) * ratio + u.bbox.top;
    u.ctx.fillText(row.lane.heading, u.bbox.left + 2 * ratio, at);
  }
}

type Fill = (u: uPlot, index: number) => CanvasPattern | string;

const fills: Record<string, Fill> = {
  steps: (_u, index) => colourOf(index % 2 === 0 ? "--step" : "--step-other"),
  collectives: () => colourOf("--collective"),
  communicating: () => colourOf("--communicating"),
  waiting: (u) => canvasFill(u.ctx, accountOf("straggler")),
  computing: (u) => canvasFill(u.ctx, accountOf("compute")),
  windows: () => colourOf("--event"),
};

const fillOf = (kind: string): Fill => fills[kind] ?? (() => colourOf("--step"));

interface Strip {
  readonly top: number;
  readonly height: number;
}

const narrow = 2; // pixels

// Spans that are too narrow to be told apart are drawn as how much of each pixel they cover.
function drawSpans(u: uPlot, row: Row, ratio: number): void {
  const { lane } = row;
  const { min, max } = u.scales.x as { min: number; max: number };
  const height = (rowHeight - (lane.kind === "windows" ? 9 : 3)) * ratio;
  const strip = { top: row.top * ratio + u.bbox.top + ratio, height };
  const covered = new Float32Array(Math.ceil(u.bbox.width) + 2);
  const fill = fillOf(lane.kind);
  for (let index = 0; index < lane.start.length; ++index) {
    const start = lane.start[index] as number;
    const end = lane.end[index] as number;
    if (!(end >= min && start <= max)) {
      continue;
    }
    const from = u.valToPos(start, "x", true);
    const to = u.valToPos(end, "x", true);
    if (to - from < narrow) {
      cover(covered, from - u.bbox.left, to - u.bbox.left);
    } else {
      u.ctx.fillStyle = fill(u, index);
      u.ctx.fillRect(from, strip.top, to - from - gap(to - from), strip.height);
      drawName(u, lane, index, Math.max(from, u.bbox.left), to, strip.top + height / 2);
    }
  }
  u.ctx.fillStyle = fill(u, 0);
  drawCovered(u, covered, strip);
}

function cover(covered: Float32Array, from: number, to: number): void {
  for (let pixel = Math.max(Math.floor(from), 0); pixel < to && pixel < covered.length; ++pixel) {
    const part = Math.min(to, pixel + 1) - Math.max(from, pixel);
    covered[pixel] = (covered[pixel] ?? 0) + part;
  }
}

// Never so faint that it cannot be seen.
function drawCovered(u: uPlot, covered: Float32Array, strip: Strip): void {
  covered.forEach((part, pixel) => {
    if (part > 0) {
      u.ctx.globalAlpha = Math.min(1, Math.max(0.15, part));
      u.ctx.fillRect(u.bbox.left + pixel, strip.top, 1, strip.height);
    }
  });
  u.ctx.globalAlpha = 1;
}

const gap = (width: number): number => (width > 6 ? 1 : 0);

function drawName(u: uPlot, lane: Lane, index: number, from: number, to: number, at: number): void {
  const text = lane.kind === "steps" ? "" : lane.names[lane.name[index] ?? -1];
  if (text && u.ctx.measureText(text).width + 8 < to - from) {
    u.ctx.fillStyle = colourOf("--on-collective");
    u.ctx.textAlign = "left";
    u.ctx.fillText(text, from + 4, at);
  }
}
