// Draws the document that this file carries, by the view that it names.
import "../style/page.css";
import { embedded } from "./document/embedded";
import { h } from "./element/h";
import { readyForPaper } from "./element/printing";
import { views } from "./views";

function start(): void {
  const name = document.body.dataset.view ?? "";
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  if (!view) {
    document.body.append(h("p", {}, `This page has no view '${name}'.`));
    return;
  }
  readyForPaper();
  view(embedded(), () => {
    document.documentElement.dataset.ready = "true";
  });
}

start();
