// Where the squares of a painted map stand: as large as there is room, several hosts to a square
// where there are more hosts than pixels. Pure.

export interface Grid {
  readonly each: number; // hosts to a line of squares
  readonly lines: number;
  readonly square: number; // pixels
  readonly margin: number; // for names
  readonly size: number;
  readonly namesEvery: number; // lines
  readonly start: (line: number) => number;
  readonly lineOf: (place: number) => number;
  readonly lineAt: (pixel: number) => number | null;
}

const largestSquare = 22;
const letters = 13; // pixels that a name needs

export function gridOf(hosts: number, width: number): Grid {
  const margin = 76;
  const room = Math.max(width - margin, 64);
  const each = Math.max(1, Math.ceil((2 * hosts) / room)); // two pixels at least
  const lines = Math.ceil(hosts / each);
  const square = Math.max(2, Math.min(largestSquare, Math.floor(room / Math.max(lines, 1))));
  return {
    each,
    lines,
    square,
    margin,
    size: margin + lines * square + 2,
    namesEvery: Math.max(1, Math.ceil(letters / square)),
    start: (line) => margin + line * square,
    lineOf: (place) => Math.floor(place / each),
    lineAt: (pixel) => {
      const line = Math.floor((pixel - margin) / square);
      return line >= 0 && line < lines ? line : null;
    },
  };
}
