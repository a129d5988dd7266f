// A command that can be copied: by the button, or by selecting it.
import { h } from "./h";

export function command(text: string): HTMLElement {
  const code = h("code", {}, text);
  const button = h(
    "button",
    { class: "copy", attributes: { type: "button", "aria-label": `copy: ${text}` } },
    "Copy",
  );
  button.addEventListener("click", () => void copy(code, button));
  return h("div", "command", code, button);
}

async function copy(code: HTMLElement, button: HTMLElement): Promise<void> {
  let done = false;
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    done = true;
  } catch {
    select(code); // refused here: one key is left to press
  }
  button.textContent = done ? "Copied" : "Selected";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function select(element: HTMLElement): void {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}
