// Zooming and moving without dragging: by keyboard, wheel and two fingers.
import type { TimeRange } from "./time_range";

const keys: Record<string, (range: TimeRange) => void> = {
  "+": (range) => range.zoom(0.5),
  "=": (range) => range.zoom(0.5),
  "-": (range) => range.zoom(2),
  _: (range) => range.zoom(2),
  ArrowLeft: (range) => range.move(-0.2),
  ArrowRight: (range) => range.move(0.2),
  PageUp: (range) => range.move(-0.9),
  PageDown: (range) => range.move(0.9),
  "0": (range) => range.showAll(),
  Home: (range) => range.showAll(),
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, select, textarea, .scroll") !== null;

// Page keys scroll the page unless a part of the run is in view.
const isForPage = (event: KeyboardEvent, range: TimeRange): boolean =>
  event.ctrlKey || event.metaKey || event.altKey || (event.key.startsWith("Page") && range.isAll);

export function steerByKeys(element: HTMLElement, range: TimeRange): void {
  element.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (action && !isTyping(event.target) && !isForPage(event, range)) {
      action(range);
      event.preventDefault();
    }
  });
}

// The moment below a point of the window, by the plot that lies there.
function momentAt(target: EventTarget | null, x: number, range: TimeRange): number | null {
  const plot =
    target instanceof Element ? target.closest(".chart")?.querySelector(".u-over") : null;
  if (!plot) {
    return null;
  }
  const box = plot.getBoundingClientRect();
  const { from, to } = range.view;
  return from + ((x - box.left) / Math.max(box.width, 1)) * (to - from);
}

// The wheel alone scrolls the page. With Ctrl, as a pinch on a touchpad reports itself, it zooms;
// sideways or with Shift it moves.
export function steerByWheel(element: HTMLElement, range: TimeRange): void {
  element.addEventListener(
    "wheel",
    (event) => {
      const at = momentAt(event.target, event.clientX, range);
      if (at === null) {
        return;
      }
      const sideways = event.deltaX + (event.shiftKey ? event.deltaY : 0);
      if (event.ctrlKey || event.metaKey) {
        range.zoom(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) * 0.01), at);
        event.preventDefault();
      } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY) && !range.isAll) {
        range.move(sideways / 800);
        event.preventDefault();
      }
    },
    { passive: false },
  );
}

export function steerByTouch(element: HTMLElement, range: TimeRange): void {
  let before: { middle: number; apart: number } | null = null;
  const fingers = (event: TouchEvent) => {
    const [one, two] = [event.touches[0] as Touch, event.touches[1] as Touch];
    return {
      middle: (one.clientX + two.clientX) / 2,
      apart: Math.max(Math.abs(one.clientX - two.clientX), 20),
    };
  };
  const isPinch = (event: TouchEvent) => event.touches.length === 2;
  element.addEventListener("touchstart", (event) => {
    before = isPinch(event) ? fingers(event) : null;
  });
  element.addEventListener(
    "touchmove",
    (event) => {
      if (!before || !isPinch(event)) {
        return;
      }
      const now = fingers(event);
      const at = momentAt(event.target, now.middle, range);
      if (at !== null) {
        range.zoom(before.apart / now.apart, at);
        range.move((before.middle - now.middle) / element.clientWidth);
      }
      before = now;
      event.preventDefault();
    },
    { passive: false },
  );
}
