// All charts of the page: as wide as their elements, in the colours of the theme.
import type uPlot from "uplot";

export const colourOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const charts = new Set<uPlot>();

// A chart whose element has left the page goes with it.
export function isGone(u: uPlot): boolean {
  if (u.root.isConnected) {
    return false;
  }
  charts.delete(u);
  u.destroy();
  return true;
}

// Kept as wide as its element, and drawn anew in other colours.
export function register(u: uPlot, into: HTMLElement): uPlot {
  charts.add(u);
  new ResizeObserver(() => resize(u, into)).observe(into);
  return u;
}

export const widthOf = (element: HTMLElement): number => Math.max(element.clientWidth, 200);

function resize(u: uPlot, into: HTMLElement): void {
  if (into.clientWidth > 0 && into.clientWidth !== u.width) {
    u.setSize({ width: widthOf(into), height: u.height });
  }
}

// Colours are read anew: another theme, or paper.
export function redrawAll(): void {
  [...charts].filter((u) => !isGone(u)).forEach((u) => u.redraw(false, true));
}

export function fitAll(width: number | null): void {
  [...charts]
    .filter((u) => !isGone(u))
    .forEach((u) => {
      const into = u.root.parentElement;
      u.setSize({ width: width ?? widthOf(into ?? u.root), height: u.height });
    });
}
