// On paper: light, everything drawn and unfolded, charts as wide as the sheet.
import { fitAll } from "../chart/charts";
import { allNow } from "./schedule";
import { putOnPaper } from "./theme";

const sheet = 700; // CSS pixels between the margins of A4, and of Letter
const foldedNow = "details:not([open]):not(.chooser)";

export function readyForPaper(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>(foldedNow)];
    opened.forEach((each) => (each.open = true));
    allNow();
    fitAll(sheet);
    putOnPaper(true);
  });
  addEventListener("afterprint", () => {
    opened.forEach((each) => (each.open = false));
    fitAll(null);
    putOnPaper(false);
  });
}
