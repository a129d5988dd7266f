// What happens when many send at once: the cuts, and the collective over all.
import type { Ref } from "../document/ref";
import { gauge } from "../element/gauge";
import { h, type Child } from "../element/h";
import { facts, note, section } from "../element/parts";
import { said, shown } from "../element/shown";
import type { Scene } from "./scene";

// "gpu0 to gpu3, gpu7": hosts that stand next to each other together.
export function hostsInWords(names: readonly string[], hosts: readonly number[]): string {
  const sorted = [...hosts].sort((left, right) => left - right);
  const runs: number[][] = [];
  for (const host of sorted) {
    const last = runs[runs.length - 1];
    if (last && last[last.length - 1] === host - 1) {
      last.push(host);
    } else {
      runs.push([host]);
    }
  }
  const name = (host: number | undefined) => names[host ?? -1] ?? "";
  return runs
    .map((run) =>
      run.length === 1
        ? name(run[0])
        : `${name(run[0])}${run.length === 2 ? ", " : " to "}${name(run[run.length - 1])}`,
    )
    .join(", ");
}

function group(scene: Scene, hosts: Ref): HTMLElement {
  const indices = hosts.numbers.filter((each) => each !== null);
  return h(
    "div",
    "box",
    h("b", {}, `${indices.length} host${indices.length === 1 ? "" : "s"}`),
    h("small", {}, hostsInWords(scene.mesh.names, indices)),
  );
}

function cut(scene: Scene, each: Ref): HTMLElement {
  const ways = each.at("ways").items.length;
  const [together, alone] = [each.at("together_mbps"), each.at("alone_mbps")];
  const carried =
    alone.number === null
      ? h("span", {}, shown(together, "mbps"), " together")
      : gauge(together, alone, "mbps", true);
  return h(
    "div",
    "cut",
    group(scene, each.at("left")),
    h("div", "wire", h("span", "wire-name", `${ways} path${ways === 1 ? "" : "s"} at once`), carried),
    group(scene, each.at("right")),
  );
}

function collective(result: Ref): Child {
  if (!result.isKnown) {
    return note("No collective was tried.");
  }
  const reason = result.at("error", "reason");
  const who: [string, Child][] = [
    ["Backend", said(result.at("backend"))],
    ["Ranks", shown(result.at("ranks"), "count")],
  ];
  if (reason.text !== null) {
    return h("div", "stack", facts(who), h("p", "warn", said(reason)));
  }
  return h(
    "div",
    "stack",
    facts([
      ...who,
      ["Size", shown(result.at("bytes"), "bytes")],
      ["Bus bandwidth", shown(result.at("bus_mbps"), "mbps")],
      ["Time", shown(result.at("time_us"), "us")],
    ]),
  );
}

export function togetherSection(scene: Scene): HTMLElement {
  const cuts = scene.document.at("cuts").items;
  return section(
    { id: "together", title: "All at once" },
    cuts.length === 0
      ? note("No cut through the cluster was tested.")
      : h(
          "div",
          "stack",
          h("p", "lead", "What a cut carries at once, as a share of what its paths carry one by one."),
          ...cuts.map((each) => cut(scene, each)),
        ),
    h("h3", {}, "All-reduce over all"),
    collective(scene.document.at("collective")),
  );
}
