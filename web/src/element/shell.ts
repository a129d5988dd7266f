// What stands around the sections: the bar on top, the way past it, and the table of contents.
import { h } from "./h";
import { themeButton } from "./theme";

export interface Place {
  readonly id: string;
  readonly title: string;
}

export interface Shell {
  readonly main: HTMLElement;
}

function contents(places: readonly Place[]): HTMLElement {
  const links = places.map((place) =>
    h("li", {}, h("a", { attributes: { href: `#${place.id}` } }, place.title)),
  );
  return h(
    "nav",
    { class: "contents", attributes: { "aria-label": "contents" } },
    h("ul", {}, ...links),
  );
}

export function shell(name: string, places: readonly Place[]): Shell {
  const main = h("main", { attributes: { id: "main", tabindex: -1 } });
  const skip = h("a", { class: "skip", attributes: { href: "#main" } }, "Skip to the report");
  const bar = h(
    "div",
    { class: "bar", attributes: { role: "banner" } },
    h("span", "brand", "chokepoint"),
    h("span", "bar-name", name),
    themeButton(),
  );
  document.body.append(skip, bar, h("div", "page", contents(places), main));
  return { main };
}

// The link of the section that is read now.
export function followReading(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(".contents a")];
  const observer = new IntersectionObserver(
    (entries) => {
      const seen = entries.find((entry) => entry.isIntersecting)?.target.id;
      if (seen) {
        links.forEach((link) => {
          if (link.hash === `#${seen}`) {
            link.setAttribute("aria-current", "true");
          } else {
            link.removeAttribute("aria-current");
          }
        });
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  document.querySelectorAll(".section").forEach((each) => observer.observe(each));
}
