// An account's pattern as a tile: for a canvas, and as the picture of a CSS background, so that the
// bar, the chart and the legend look the same.
import type { Account, Pattern } from "./accounts";

const size = 8;

type Pen = CanvasRenderingContext2D;

const line = (pen: Pen, ...points: [number, number, number, number]): void => {
  pen.beginPath();
  pen.moveTo(points[0], points[1]);
  pen.lineTo(points[2], points[3]);
  pen.stroke();
};

// Across a tile's edges, so that tiles join.
const rising = (pen: Pen): void => {
  line(pen, -2, 2, 2, -2);
  line(pen, -2, 10, 10, -2);
  line(pen, 6, 10, 10, 6);
};

const falling = (pen: Pen): void => {
  line(pen, -2, 6, 2, 10);
  line(pen, -2, -2, 10, 10);
  line(pen, 6, -2, 10, 2);
};

const dot = (pen: Pen, x: number, y: number): void => {
  pen.beginPath();
  pen.arc(x, y, 1.1, 0, 7);
  pen.fill();
};

const drawn: Record<Pattern, (pen: Pen) => void> = {
  plain: () => undefined,
  rising,
  falling,
  dots: (pen) => {
    dot(pen, 2, 2);
    dot(pen, 6, 6);
  },
  level: (pen) => line(pen, 0, 4, 8, 4),
  upright: (pen) => line(pen, 4, 0, 4, 8),
  cross: (pen) => {
    rising(pen);
    falling(pen);
  },
};

export function tile(account: Account): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const pen = canvas.getContext("2d");
  if (pen) {
    pen.fillStyle = account.colour;
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = pen.fillStyle = "rgba(0, 0, 0, 0.42)";
    pen.lineWidth = 1.4;
    drawn[account.pattern](pen);
  }
  return canvas;
}

const tiles = new Map<string, HTMLCanvasElement>();

function tileOf(account: Account): HTMLCanvasElement {
  const made = tiles.get(account.id) ?? tile(account);
  tiles.set(account.id, made);
  return made;
}

export function canvasFill(
  pen: CanvasRenderingContext2D,
  account: Account,
): CanvasPattern | string {
  return pen.createPattern(tileOf(account), "repeat") ?? account.colour;
}

export function cssFill(account: Account): string {
  return `url(${tileOf(account).toDataURL()})`;
}
