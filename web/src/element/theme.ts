// Dark or light: as the system has it, until somebody chooses. The style goes by data-theme alone.
import { redrawAll } from "../chart/charts";
import { h } from "./h";

type Theme = "light" | "dark";

const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;
let chosen: Theme | null = null;
let onPaper = false;

export function showTheme(): void {
  root.dataset.theme = onPaper ? "light" : (chosen ?? (dark.matches ? "dark" : "light"));
  redrawAll();
}

// Paper is white.
export function putOnPaper(isPaper: boolean): void {
  onPaper = isPaper;
  showTheme();
}

export function themeButton(): HTMLElement {
  const button = h("button", { class: "theme", attributes: { type: "button" } });
  const say = () => {
    showTheme();
    const other: Theme = root.dataset.theme === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `show it in ${other} colours`);
  };
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
  return button;
}
