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

interface Squares {
  readonly worst: Uint8Array; // by row, by column: a grade, `none` or `own`
  readonly ways: Int32Array; // which one that is: places of row and column among those shown
}

interface Painting extends Squares {
  readonly scene: Scene;
  readonly grid: Grid;
  readonly base: HTMLCanvasElement; // all but the cursor, which moves often
  painted: string; // what the base was painted for
}

function squaresOf(scene: Scene, metric: Metric, scale: Scale, grid: Grid): Squares {
  const { mesh } = scene;
  const worst = new Uint8Array(grid.lines ** 2).fill(none);
  const ways = new Int32Array(grid.lines ** 2).fill(-1);
  const count = mesh.shown.length;
  mesh.shown.forEach((from, row) => {
    mesh.shown.forEach((to, column) => {
      const at = grid.lineOf(row) * grid.lines + grid.lineOf(column);
      const value = from === to ? null : mesh.value(metric, from, to);
      const grade = value === null ? -1 : scale.grade(value);
      const known = worst[at] ?? none;
      if (grade > (known < grades ? known : -1)) {
        worst[at] = grade;
        ways[at] = row * count + column;
      } else if (from === to && grid.each === 1) {
        worst[at] = own;
      }
    });
  });
  return { worst, ways };
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
  context.font = "11px system-ui, sans-serif";
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

function sized(canvas: HTMLCanvasElement, size: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(size * ratio);
  canvas.height = Math.round(size * ratio);
  const context = canvas.getContext("2d");
  context?.scale(ratio, ratio);
  return context;
}

function paintBase(painting: Painting): void {
  const wanted = `${document.documentElement.dataset.theme} ${painting.scene.picks.finding}`;
  const context = wanted === painting.painted ? null : sized(painting.base, painting.grid.size);
  if (context) {
    painting.painted = wanted;
    paintSquares(context, painting);
    paintNames(context, painting);
    paintHeld(context, painting);
  }
}

function paint(canvas: HTMLCanvasElement, painting: Painting): void {
  paintBase(painting);
  const { size } = painting.grid;
  const context = sized(canvas, size);
  if (context) {
    context.drawImage(painting.base, 0, 0, size, size);
    paintCursor(context, painting);
  }
}

// The way under a point of the canvas, which may be drawn smaller than it is; the worst of a square.
function wayAt(
  canvas: HTMLCanvasElement,
  painting: Painting,
  event: MouseEvent,
): WayPlace | null {
  const { scene, grid, ways } = painting;
  const { shown } = scene.mesh;
  const box = canvas.getBoundingClientRect();
  const line = (at: number, whole: number) => grid.lineAt((at / whole) * grid.size);
  const row = line(event.clientY - box.top, box.height);
  const column = line(event.clientX - box.left, box.width);
  if (row === null || column === null) {
    return null;
  }
  const worst = ways[row * grid.lines + column] ?? -1;
  const from = worst < 0 ? row * grid.each : Math.floor(worst / shown.length);
  const to = worst < 0 ? column * grid.each : worst % shown.length;
  return { from: shown[from] ?? 0, to: shown[to] ?? 0 };
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
  const under = (event: MouseEvent) => wayAt(canvas, painting, event);
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
  const squares = squaresOf(scene, metric, scale, grid);
  const painting = { scene, grid, ...squares, base: h("canvas"), painted: "" };
  const words =
    grid.each > 1
      ? `each square the worst of ${grid.each} by ${grid.each} hosts`
      : `${scene.mesh.shown.length} hosts; arrow keys move from path to path`;
  const canvas = h("canvas", {
    class: "ways-canvas",
    attributes: { tabindex: 0, role: "img", "aria-label": `${metric.title}: ${words}` },
    variables: { "--size": `${grid.size}px` },
  });
  steer(canvas, painting, choose);
  const note = grid.each > 1 ? h("p", "source", `A square is the worst of ${grid.each} × ${grid.each} paths.`) : null;
  const element = h("div", "ways-box", canvas, note);
  return { element, mark: () => paint(canvas, painting) };
}
