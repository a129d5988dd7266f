// The first view: what changed, the worst first, and the map of all hosts.
import type { WebFleet } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { facts, list, note, section } from "../element/parts";
import { said } from "../element/shown";
import { date } from "../format/times";
import { grouped } from "../format/scaled";
import { matches, ordered } from "../table/order";
import { toSubject } from "./address";
import { isUnusual, mapOf, type Row } from "./map";

type Fleet = Ref<WebFleet>;

const plural = (count: number, word: string): string => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;

function headline(fleet: Fleet): string {
  if (!fleet.at("searched").isTrue) {
    return "Changes are being looked for …";
  }
  const worse = fleet.at("findings").items.filter((each) => each.at("worse").isTrue).length;
  return worse === 0
    ? "Nothing became worse lately"
    : `${plural(worse, "thing")} became worse lately`;
}

function finding(each: Ref<WebFleet["findings"][number]>): Child[] {
  const href = toSubject(each.at("subject").text ?? "", each.at("metric").text ?? "");
  return [h("a", { attributes: { href } }, said(each.at("sentence")))];
}

function findings(fleet: Fleet): HTMLElement {
  const all = fleet.at("findings").items;
  const worse = all.filter((each) => each.at("worse").isTrue);
  const better = all.filter((each) => !each.at("worse").isTrue);
  return section(
    { id: "changes", title: "What changed" },
    h(
      "div",
      { class: worse.length > 0 ? "verdict" : "verdict well", attributes: { role: "status" } },
      h("p", "sentence", headline(fleet)),
    ),
    worse.length > 0 ? list("ul", worse.map(finding), "missing") : null,
    better.length > 0
      ? h("div", "stack", h("h3", {}, "Became better"), list("ul", better.map(finding), "missing"))
      : null,
  );
}

function legend(): HTMLElement {
  const square = (grade: number, text: string) =>
    h("li", {}, h("span", { class: `square grade-${grade}`, attributes: { "aria-hidden": true } }), text);
  return h(
    "ul",
    "grades",
    square(2, "worse since lately, or unlike the other hosts"),
    square(3, "worse by 15 % or more"),
    square(4, "by 50 % or more"),
  );
}

function hostMap(fleet: Fleet): HTMLElement {
  const columns = fleet.at("columns").items;
  const hosts = ordered(
    fleet.at("subjects").items.filter((row) => row.at("kind").text === "host"),
    (row) => row.at("subject").text,
    "ascending",
  );
  const into = h("div");
  const search = h("input", { attributes: { type: "search", "aria-label": "hosts by name" } });
  const unusual = h("input", { attributes: { type: "checkbox" } });
  const count = h("output", "count");
  const draw = (): void => {
    const kept = hosts.filter(
      (row) =>
        matches(row.at("subject").text ?? "", search.value) &&
        (!unusual.checked || isUnusual(row, columns)),
    );
    count.textContent = `${kept.length} of ${plural(hosts.length, "host")}`;
    into.replaceChildren(
      kept.length > 0 ? mapOf(kept, columns, "hosts and figures") : note("No such host."),
    );
  };
  search.addEventListener("input", draw);
  unusual.addEventListener("change", draw);
  draw();
  return section(
    { id: "map", title: "Hosts", lead: "The newest value of each figure. A path counts for the host that sends." },
    h(
      "div",
      "filter",
      h("label", {}, "Name", search),
      h("label", "only", unusual, "Unusual ones alone"),
      count,
    ),
    legend(),
    into,
  );
}

function otherMap(fleet: Fleet): Child {
  const others: readonly Row[] = fleet.at("subjects").items.filter((row) => row.at("kind").text !== "host");
  return others.length === 0
    ? null
    : section(
        { id: "jobs", title: "Jobs" },
        mapOf(others, fleet.at("columns").items, "jobs and figures"),
      );
}

export function hostsView(fleet: Fleet): HTMLElement[] {
  const left = fleet.at("left_out").number ?? 0;
  const masthead = h(
    "header",
    "masthead",
    h("h1", {}, "Hosts"),
    facts([
      ["History", said(fleet.at("history"))],
      ["Rows", grouped(fleet.at("rows").number ?? 0)],
      ["Series", grouped(fleet.at("series").number ?? 0)],
      ["Changes since", date(fleet.at("since").text ?? "").slice(0, 10)],
    ]),
  );
  const others = otherMap(fleet);
  return [
    masthead,
    findings(fleet),
    hostMap(fleet),
    ...(others ? [others as HTMLElement] : []),
    ...(left > 0 ? [note(`${grouped(left)} columns and subjects are left out.`)] : []),
  ];
}
