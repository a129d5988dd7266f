// One series over months: its points, the level before and after each change, and when a setting of
// its host changed.
import uPlot from "uplot";
import type { WebSubject } from "../document/documents";
import type { Ref } from "../document/ref";
import { font, gutter, valueAxis } from "../chart/axes";
import { colourOf, register, widthOf } from "../chart/charts";
import { h } from "../element/h";
import { whenNear } from "../element/schedule";
import { format } from "../format/units";
import { minute, percentText } from "./words";

export type Series = Ref<WebSubject["series"][number]>;
export type Setting = Ref<WebSubject["settings"][number]>;

const height = 190;
const secondsOf = (moment: Ref): number => Date.parse(moment.text ?? "") / 1e3;

// uPlot's form: from how many seconds between ticks on, the label, and what is added to it where a
// year, a month, a day, an hour, a minute or a second begins.
const timeLabels: uPlot.Axis.Values = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

interface Level {
  readonly from: number;
  readonly to: number;
  readonly value: number;
  readonly isWorse: boolean | null; // null: before the first change
}

export function levelsOf(series: Series): Level[] {
  const times = series.at("times_s").numbers;
  const changes = series.at("changes").items;
  const first = changes[0];
  if (!first) {
    return [];
  }
  const begins = [times[0] ?? 0, ...changes.map((change) => secondsOf(change.at("first_bad")))];
  const ends = [...changes.map((change) => secondsOf(change.at("last_good"))), times[times.length - 1] ?? 0];
  const values = [first.at("before").number, ...changes.map((change) => change.at("after").number)];
  return values.map((value, at) => ({
    from: begins[at] ?? 0,
    to: ends[at] ?? 0,
    value: value ?? 0,
    isWorse: at === 0 ? null : (changes[at - 1]?.at("worse").isTrue ?? null),
  }));
}

function drawOver(u: uPlot, levels: readonly Level[], settings: readonly number[]): void {
  const { ctx, bbox } = u;
  const x = (seconds: number) => u.valToPos(seconds, "x", true);
  const line = (colour: string, dash: readonly number[], points: readonly [number, number][]) => {
    ctx.strokeStyle = colourOf(colour);
    ctx.setLineDash(dash.map((each) => each * devicePixelRatio));
    ctx.beginPath();
    points.forEach(([left, top], at) => (at === 0 ? ctx.moveTo(left, top) : ctx.lineTo(left, top)));
    ctx.stroke();
  };
  const upright = (colour: string, dash: readonly number[], at: number) =>
    line(colour, dash, [[at, bbox.top], [at, bbox.top + bbox.height]]);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = devicePixelRatio;
  settings.forEach((at) => upright("--event", [2, 3], x(at)));
  ctx.lineWidth = 2 * devicePixelRatio;
  for (const level of levels) {
    const colour = level.isWorse === null ? "--ink" : level.isWorse ? "--evidence" : "--well";
    const top = u.valToPos(level.value, "y", true);
    line(colour, [], [[x(level.from), top], [x(level.to), top]]);
    if (level.isWorse !== null) {
      upright(colour, [5, 4], x(level.from));
    }
  }
  ctx.restore();
}

function summary(series: Series): string {
  const unit = series.at("unit").text ?? "";
  const values = series.at("values").numbers;
  const newest = format(values[values.length - 1] ?? 0, unit);
  const changes = series.at("changes").items.map((change) => {
    const percent = change.at("percent").number;
    return `${percent === null ? "changed" : percentText(percent)} at ${change.at("first_bad").text}`;
  });
  return `${series.at("title").text ?? ""} of ${series.at("subject").text ?? ""}: newest ${newest}; ${
    changes.length > 0 ? changes.join(", ") : "no change of level"
  }`;
}

// From a bit below the least to a bit above the largest; of values that hardly differ, not so near that
// noise looks like a change.
function rangeOf(_u: uPlot, least: number, largest: number): uPlot.Range.MinMax {
  const middle = (least + largest) / 2;
  const half = Math.max((largest - least) * 0.58, Math.abs(middle) * 0.05, 1e-9);
  return [least >= 0 ? Math.max(0, middle - half) : middle - half, middle + half];
}

export function seriesChart(series: Series, settings: readonly Setting[]): HTMLElement {
  const unit = series.at("unit").text ?? "";
  const times = series.at("times_s").numbers as number[];
  const values = series.at("values").numbers as number[];
  const levels = levelsOf(series);
  const moments = settings.map((each) => secondsOf(each.at("first_seen")));
  const readout = h("output", "readout");
  const into = h("div", {
    class: "chart over-time",
    attributes: { role: "img", "aria-label": summary(series) },
  });
  const few = times.length <= 150;
  const make = (): void => {
    const u = new uPlot(
      {
        width: widthOf(into),
        height,
        padding: [8, 12, 0, 0],
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
        legend: { show: false },
        cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
        scales: { y: { range: rangeOf } },
        axes: [
          {
            stroke: () => colourOf("--muted"),
            font,
            size: 40,
            space: 74,
            values: timeLabels,
            grid: { stroke: () => colourOf("--grid"), width: 1 },
            ticks: { show: false },
          },
          { ...valueAxis(unit), size: gutter },
        ],
        series: [
          {},
          {
            stroke: () => colourOf("--line-1"),
            width: few ? 1.4 : 1,
            points: { show: few, size: 4, fill: () => colourOf("--line-1") },
          },
        ],
        hooks: {
          draw: [(drawn) => drawOver(drawn, levels, moments)],
          setCursor: [
            (moved) => {
              const at = moved.cursor.idx ?? null;
              const [time, value] = at === null ? [] : [times[at], values[at]];
              readout.textContent =
                time === undefined || value === undefined
                  ? ""
                  : `${minute(time)} UTC: ${format(value, unit)}`;
            },
          ],
        },
      },
      [times, values],
      into,
    );
    register(u, into);
  };
  whenNear(into, make);
  return h("div", {}, into, readout);
}
