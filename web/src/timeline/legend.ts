// The lines of a chart with their values: at the cursor, or the peak where it is elsewhere. It is
// also what the chart says to who cannot see it.
import { h } from "../element/h";
import { moment } from "../format/times";
import { format } from "../format/units";
import type { Look } from "./colours";
import { extremesOf, valueAt } from "./columns";

export interface Line {
  readonly label: string;
  readonly look: Look;
  readonly edges: readonly number[];
  readonly values: readonly (number | null)[];
  readonly unit: string;
  readonly source: string;
}

export interface Legend {
  readonly element: HTMLElement;
  readonly show: (at: number | null) => void;
}

function peakOf(line: Line): string {
  const extremes = extremesOf(line.edges, line.values);
  return extremes ? `peak ${format(extremes.peak, line.unit)}` : "not measured";
}

function valueOf(line: Line, at: number): string {
  const value = valueAt(line.edges, line.values, at);
  return value === null ? "–" : format(value, line.unit);
}

function key(line: Line): HTMLElement {
  const dash = (line.look.dash ?? []).join(" ") || "none";
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", "22");
  svg.setAttribute("height", "8");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M0 4H22");
  path.setAttribute("stroke-dasharray", dash);
  path.setAttribute("stroke-width", "2");
  path.style.stroke = `var(${line.look.colour})`;
  svg.append(path);
  return h("span", "key", svg);
}

export function legendOf(lines: readonly Line[]): Legend {
  const values = lines.map((line) => h("span", "value", peakOf(line)));
  const items = lines.map((line, index) =>
    h(
      "li",
      { attributes: { title: line.source ? `from ${line.source}` : null } },
      key(line),
      h("span", "name", line.label),
      values[index] as HTMLElement,
    ),
  );
  const show = (at: number | null) => {
    lines.forEach((line, index) => {
      (values[index] as HTMLElement).textContent = at === null ? peakOf(line) : valueOf(line, at);
    });
  };
  return { element: h("ul", "legend", ...items), show };
}

export function summaryOf(title: string, lines: readonly Line[]): string {
  const said = lines.map((line) => {
    const extremes = extremesOf(line.edges, line.values);
    return extremes
      ? `${line.label}: peak ${format(extremes.peak, line.unit)} at ${moment(extremes.at, 1000)}, mean ${format(extremes.mean, line.unit)}`
      : `${line.label}: not measured`;
  });
  return `${title} over time. ${said.join("; ")}`;
}
