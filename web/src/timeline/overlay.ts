// What lies over every chart of the timeline: the moments of evidence and events.
import type uPlot from "uplot";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { colourOf } from "../chart/charts";

export interface Moment {
  readonly ref: Ref;
  readonly number: number; // as the table counts them
  readonly start: number;
  readonly end: number | null;
  readonly isEvidence: boolean;
}

export function momentsOf(report: Ref<Report>): Moment[] {
  return report.at("moments").items.flatMap((ref, index) => {
    const start = ref.at("start_s").number;
    const moment = {
      ref,
      number: index + 1,
      start: start ?? 0,
      end: ref.at("end_s").number,
      isEvidence: ref.at("kind").text === "evidence",
    };
    return start === null ? [] : [moment];
  });
}

const most = 200; // lines closer than this many are a wall, not marks

// A band for what lasted, a line for what happened; numbered where there is room for it.
export function momentsHook(moments: readonly Moment[], hasNumbers: boolean): (u: uPlot) => void {
  return (u) => {
    const { left, top, width, height } = u.bbox;
    const seen = moments.filter((each) => isInView(u, each)).slice(0, most);
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top - 14 * devicePixelRatio, width, height + 14 * devicePixelRatio);
    u.ctx.clip();
    seen.forEach((each) => draw(u, each));
    if (hasNumbers) {
      drawNumbers(u, seen);
    }
    u.ctx.restore();
  };
}

function isInView(u: uPlot, moment: Moment): boolean {
  const { min, max } = u.scales.x as { min: number; max: number };
  return moment.start <= max && (moment.end ?? moment.start) >= min;
}

function draw(u: uPlot, moment: Moment): void {
  const { top, height } = u.bbox;
  const colour = colourOf(moment.isEvidence ? "--evidence" : "--event");
  const from = u.valToPos(moment.start, "x", true);
  const to = u.valToPos(moment.end ?? moment.start, "x", true);
  u.ctx.fillStyle = u.ctx.strokeStyle = colour;
  if (to - from > 2) {
    u.ctx.globalAlpha = 0.12;
    u.ctx.fillRect(from, top, to - from, height);
    u.ctx.globalAlpha = 1;
  }
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash(moment.isEvidence ? [] : [3 * devicePixelRatio, 3 * devicePixelRatio]);
  u.ctx.beginPath();
  u.ctx.moveTo(Math.round(from) + 0.5, top);
  u.ctx.lineTo(Math.round(from) + 0.5, top + height);
  u.ctx.stroke();
  u.ctx.setLineDash([]);
}

// Numbers that would overlap the one before are left out.
function drawNumbers(u: uPlot, moments: readonly Moment[]): void {
  const ratio = devicePixelRatio;
  let free = -Infinity;
  u.ctx.font = `600 ${10 * ratio}px system-ui, sans-serif`;
  u.ctx.textAlign = "left";
  u.ctx.textBaseline = "bottom";
  for (const moment of [...moments].sort((left, right) => left.start - right.start)) {
    const text = String(moment.number);
    const at = Math.max(u.valToPos(moment.start, "x", true), u.bbox.left);
    if (at >= free) {
      u.ctx.fillStyle = colourOf(moment.isEvidence ? "--evidence" : "--event");
      u.ctx.fillText(text, at, u.bbox.top - 2 * ratio);
      free = at + u.ctx.measureText(text).width + 4 * ratio;
    }
  }
}
