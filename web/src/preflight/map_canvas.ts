// The map of many hosts, painted: a square for each way, or, where there are more hosts than room,
// a square for the worst of several. The figures of any way stand beside it.
import { colourOf } from "../chart/charts";
import { h } from "../element/h";
import { holds, type Held } from "./held";
import { gridOf, type Grid } from "./grid";
import type { Drawing } from "./map_table";
import { grades, type Metric, type Scale } from "./metrics";
import type { WayPlace } from "./model";
import type { Scene } from "./scene";

const none = 255;
const own = 254;

interface Painting {
  readonly scene: Scene;
  readonly grid: Grid;
  readonly worst: Uint8Array; // by row, by column: a grade, `none` or `own`
}

function worstOf(scene: Scene, metric: Metric, scale: Scale, grid: Grid): Uint8Array {
  const { mesh } = scene;
  const worst = new Uint8Array(grid.lines ** 2).fill(none);
  mesh.shown.forEach((from, row) => {
    mesh.shown.forEach((to, column) => {
      const at = grid.lineOf(row) * grid.lines + grid.lineOf(column);
      const value = from === to ? null : mesh.value(metric, from, to);
      if (value !== null) {
        const known = worst[at] ?? none;
        worst[at] = Math.max(known >= grades ? 0 : known, scale.grade(value));
      } else if (from === to && grid.each === 1) {
        worst[at] = own;
      }
    });
  });
  return worst;
}

function colours(): (grade: number) => string {
  const all = Array.from({ length: grades }, (_, grade) => colourOf(`--grade-${grade}`));
  const [nothing, self] = [colourOf("--sunken"), colourOf("--line")];
  return (grade) => (grade === own ? self : (all[grade] ?? nothing));
}

function paintSquares(context: CanvasRenderingContext2D, { grid, worst }: Painting): void {
  const colour = colours();
  const gap = grid.square >= 6 ? 1 : 0;
  // One colour at a time: to set it costs more than to fill.
  for (const grade of [none, own, ...Array.from({ length: grades }, (_, at) => at)]) {
    context.fillStyle = colour(grade);
    for (let at = 0; at < worst.length; ++at) {
      if (worst[at] === grade) {
        const row = Math.floor(at / grid.lines);
        const side = grid.square - gap;
        context.fillRect(grid.start(at % grid.lines), grid.start(row), side, side);
      }
    }
  }
}

function paintNames(context: CanvasRenderingContext2D, { scene, grid }: Painting): void {
  context.fillStyle = colourOf("--muted");
  context.font = `${Math.min(grid.square, 12)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  for (let line = 0; line < grid.lines; line += grid.namesEvery) {
    const name = scene.mesh.names[scene.mesh.shown[line * grid.each] ?? 0] ?? "";
    const middle = grid.start(line) + grid.square / 2;
    context.textAlign = "right";
    context.fillText(name, grid.margin - 6, middle, grid.margin - 8);
    context.save();
    context.translate(middle, grid.margin - 6);
    context.rotate(-Math.PI / 2);
    context.textAlign = "left";
    context.fillText(name, 0, 0, grid.margin - 8);
    context.restore();
  }
}

// What a finding is about stays; all else fades.
function paintHeld(context: CanvasRenderingContext2D, painting: Painting): void {
  const { scene, grid } = painting;
  const { finding } = scene.picks;
  if (finding === null) {
    return;
  }
  const held = scene.held[finding] as Held;
  const kept = new Uint8Array(grid.lines ** 2);
  scene.mesh.shown.forEach((from, row) => {
    scene.mesh.shown.forEach((to, column) => {
      if (from !== to && holds(scene.mesh, held, { from, to })) {
        kept[grid.lineOf(row) * grid.lines + grid.lineOf(column)] = 1;
      }
    });
  });
  context.fillStyle = colourOf("--surface");
  context.globalAlpha = 0.75;
  kept.forEach((isKept, at) => {
    if (!isKept) {
      const row = Math.floor(at / grid.lines);
      context.fillRect(grid.start(at % grid.lines), grid.start(row), grid.square, grid.square);
    }
  });
  context.globalAlpha = 1;
}

function paintCursor(context: CanvasRenderingContext2D, { scene, grid }: Painting): void {
  const { way } = scene.picks;
  if (!way) {
    return;
  }
  const [row, column] = [way.from, way.to].map((host) =>
    grid.lineOf(scene.mesh.shown.indexOf(host)),
  );
  const side = Math.max(grid.square, 5);
  context.strokeStyle = colourOf("--ink");
  context.lineWidth = 2;
  context.strokeRect(grid.start(column ?? 0) - 1, grid.start(row ?? 0) - 1, side + 1, side + 1);
}

function paint(canvas: HTMLCanvasElement, painting: Painting): void {
  const { size } = painting.grid;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(size * ratio);
  canvas.height = Math.round(size * ratio);
  const context = canvas.getContext("2d");
  if (context) {
    context.scale(ratio, ratio);
    paintSquares(context, painting);
    paintNames(context, painting);
    paintHeld(context, painting);
    paintCursor(context, painting);
  }
}

// The way under a point of the canvas, which may be drawn smaller than it is.
function wayAt(canvas: HTMLCanvasElement, { scene, grid }: Painting, x: number, y: number) {
  const box = canvas.getBoundingClientRect();
  const line = (at: number, whole: number) => grid.lineAt((at / whole) * grid.size);
  const [row, column] = [line(y - box.top, box.height), line(x - box.left, box.width)];
  const from = row === null ? undefined : scene.mesh.shown[row * grid.each];
  const to = column === null ? undefined : scene.mesh.shown[column * grid.each];
  return from === undefined || to === undefined ? null : { from, to };
}

function stepped(scene: Scene, key: string): WayPlace | null {
  const { shown } = scene.mesh;
  const way = scene.picks.way ?? { from: shown[0] ?? 0, to: shown[0] ?? 0 };
  const moved = (host: number, by: number) => shown[shown.indexOf(host) + by] ?? host;
  switch (key) {
    case "ArrowUp":
      return { ...way, from: moved(way.from, -1) };
    case "ArrowDown":
      return { ...way, from: moved(way.from, 1) };
    case "ArrowLeft":
      return { ...way, to: moved(way.to, -1) };
    case "ArrowRight":
      return { ...way, to: moved(way.to, 1) };
    default:
      return null;
  }
}

function steer(
  canvas: HTMLCanvasElement,
  painting: Painting,
  choose: (way: WayPlace) => void,
): void {
  const { picks } = painting.scene;
  const under = (event: MouseEvent) => wayAt(canvas, painting, event.clientX, event.clientY);
  canvas.addEventListener("mousemove", (event) => {
    const way = under(event);
    if (way) {
      picks.pickWay(way);
    }
  });
  canvas.addEventListener("click", (event) => {
    const way = under(event);
    if (way && way.from !== way.to) {
      choose(way);
    }
  });
  canvas.addEventListener("keydown", (event) => {
    const next = stepped(painting.scene, event.key);
    if (next) {
      event.preventDefault();
      picks.pickWay(next);
    } else if (event.key === "Enter" && picks.way) {
      choose(picks.way);
    }
  });
}

export function mapCanvas(
  scene: Scene,
  metric: Metric,
  scale: Scale,
  choose: (way: WayPlace) => void,
  width: number,
): Drawing {
  const grid = gridOf(scene.mesh.shown.length, width);
  const painting = { scene, grid, worst: worstOf(scene, metric, scale, grid) };
  const words =
    grid.each > 1
      ? `each square the worst of ${grid.each} by ${grid.each} hosts`
      : `${scene.mesh.shown.length} hosts; arrow keys move from way to way`;
  const canvas = h("canvas", {
    class: "ways-canvas",
    attributes: { tabindex: 0, role: "img", "aria-label": `${metric.title}: ${words}` },
    variables: { "--size": `${grid.size}px` },
  });
  steer(canvas, painting, choose);
  const note = grid.each > 1 ? h("p", "source", `A square is the worst of ${grid.each} × ${grid.each} ways.`) : null;
  const element = h("div", "ways-box", canvas, note);
  return { element, mark: () => paint(canvas, painting) };
}
