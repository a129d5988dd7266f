// The map of few hosts: a table with a number for each way, whose cells are walked by arrow keys.
import { h } from "../element/h";
import { scrollBox } from "../element/parts";
import { cell } from "../element/shown";
import { holds, type Held } from "./held";
import type { Metric, Scale } from "./metrics";
import type { WayPlace } from "./model";
import type { Scene } from "./scene";

const steps: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

interface Square {
  readonly element: HTMLElement;
  readonly way: WayPlace;
}

function square(scene: Scene, metric: Metric, scale: Scale, way: WayPlace): Square {
  const { mesh } = scene;
  if (way.from === way.to) {
    return { element: h("td", { class: "none", attributes: { tabindex: -1 } }, "·"), way };
  }
  const value = mesh.value(metric, way.from, way.to);
  const grade = value === null ? "none" : `grade-${scale.grade(value)}`;
  const figure = mesh.figure(way.from, way.to, metric.column, metric.isOfPair);
  const name = `${mesh.names[way.from]} to ${mesh.names[way.to]}`;
  const element = h(
    "td",
    { class: `way-square ${grade}`, attributes: { tabindex: -1, title: name } },
    mesh.pairOf(way.from, way.to) < 0 ? "?" : cell(figure, metric.unit),
  );
  element.addEventListener("mouseenter", () => scene.picks.pickWay(way));
  element.addEventListener("focus", () => scene.picks.pickWay(way));
  return { element, way };
}

function walk(squares: readonly (readonly Square[])[], event: KeyboardEvent): void {
  const step = steps[event.key];
  const row = squares.findIndex((each) => each.some((one) => one.element === event.target));
  const column = squares[row]?.findIndex((one) => one.element === event.target) ?? -1;
  const next = step && squares[row + step[0]]?.[column + step[1]]?.element;
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function mark(scene: Scene, squares: readonly (readonly Square[])[]): void {
  const held = scene.picks.finding === null ? null : (scene.held[scene.picks.finding] as Held);
  const { way } = scene.picks;
  for (const { element, way: at } of squares.flat()) {
    element.classList.toggle("picked", held !== null && holds(scene.mesh, held, at));
    element.classList.toggle("faded", held !== null && !holds(scene.mesh, held, at));
    element.classList.toggle("read", at.from === way?.from && at.to === way?.to);
  }
}

export interface Drawing {
  readonly element: HTMLElement;
  readonly mark: () => void;
}

export function mapTable(
  scene: Scene,
  metric: Metric,
  scale: Scale,
  choose: (way: WayPlace) => void,
): Drawing {
  const { mesh } = scene;
  const squares = mesh.shown.map((from) =>
    mesh.shown.map((to) => square(scene, metric, scale, { from, to })),
  );
  const heads = mesh.shown.map((to) =>
    h("th", { attributes: { scope: "col" } }, h("span", {}, mesh.names[to] ?? "")),
  );
  const rows = squares.map((row, index) =>
    h(
      "tr",
      {},
      h("th", { attributes: { scope: "row" } }, mesh.names[mesh.shown[index] ?? 0] ?? ""),
      ...row.map((each) => each.element),
    ),
  );
  const corner = h("th", { class: "corner", attributes: { scope: "col" } }, "sends ↓  receives →");
  const table = h(
    "table",
    "matrix ways-map",
    h("thead", {}, h("tr", {}, corner, ...heads)),
    h("tbody", {}, ...rows),
  );
  const first = squares[0]?.find((each) => each.way.from !== each.way.to)?.element;
  first?.setAttribute("tabindex", "0");
  table.addEventListener("keydown", (event) => {
    walk(squares, event);
    const found = squares.flat().find((each) => each.element === event.target);
    if (found && event.key === "Enter") {
      choose(found.way);
    }
  });
  table.addEventListener("click", (event) => {
    const found = squares.flat().find((each) => each.element.contains(event.target as Node));
    if (found && found.way.from !== found.way.to) {
      choose(found.way);
    }
  });
  return { element: scrollBox(`${metric.title}, in each direction`, table), mark: () => mark(scene, squares) };
}
