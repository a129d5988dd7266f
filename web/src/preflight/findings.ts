// What was found, the worst first: each with its evidence, the command that mends it, and its ways
// in the map.
import type { Ref } from "../document/ref";
import { command } from "../element/command";
import { h, type Child } from "../element/h";
import { facts, folded, note, section } from "../element/parts";
import { said } from "../element/shown";
import { evidenceTable } from "../table/evidence";
import { Table } from "../table/table";
import type { Scene } from "./scene";

const places: Record<string, string> = {
  cluster: "the cluster",
  host: "a host",
  port: "a port: the NIC, its cable, or the switch's side",
  slot: "a PCIe slot",
  name: "a name",
  way: "one direction between two hosts",
  pair: "between two hosts, both directions",
  uplink: "what two groups of hosts share",
};

const mostOpen = 40; // the rest is folded

function evidence(finding: Ref): Child {
  const table = evidenceTable(finding);
  return table ? folded("Evidence", table) : null;
}

function showButton(scene: Scene, index: number): Child {
  const held = scene.held[index];
  const isShown = held?.hasWays || scene.mesh.shown.some((host) => held?.hosts.has(host));
  if (!isShown) {
    return null;
  }
  const button = h("button", { class: "show", attributes: { type: "button" } }, "Show in the map");
  const say = () =>
    button.setAttribute("aria-pressed", String(scene.picks.finding === index));
  button.addEventListener("click", () => {
    scene.picks.pickFinding(index);
    if (scene.picks.finding === index) {
      document.getElementById("map")?.scrollIntoView({ block: "start" });
    }
  });
  scene.picks.follow(say);
  say();
  return button;
}

function found(finding: Ref): Child {
  const place = places[finding.at("place").text ?? ""];
  const pairs: (readonly [string, Child])[] = [["Found", said(finding.at("found"))]];
  if (finding.at("wanted").text !== null) {
    pairs.push(["Wanted", said(finding.at("wanted"))]);
  }
  if (place !== undefined) {
    pairs.push(["To be looked for at", place]);
  }
  return facts(pairs);
}

function article(scene: Scene, finding: Ref, index: number): HTMLElement {
  const status = finding.at("status").text ?? "";
  const step = finding.at("next_step").text;
  const element = h(
    "article",
    { class: `finding ${status}`, attributes: { id: `finding-${index}`, tabindex: -1 } },
    h(
      "header",
      {},
      h("span", `status ${status}`, said(finding.at("status"))),
      h("h3", {}, said(finding.at("subject"))),
      h("small", {}, said(finding.at("id"))),
      showButton(scene, index),
    ),
    found(finding),
    h("p", {}, said(finding.at("why"))),
    step === null ? null : command(step),
    evidence(finding),
  );
  scene.picks.follow(() => element.classList.toggle("picked", scene.picks.finding === index));
  return element;
}

function passed({ document }: Scene): Child {
  const rows = document.at("checks").items.filter((each) => each.at("status").text === "PASS");
  const table = new Table<Ref>({
    label: "what passed",
    rows,
    columns: [
      { title: "Check", cell: (row) => said(row.at("id")), value: (row) => row.at("id").text },
      { title: "Of", cell: (row) => said(row.at("subject")) },
      { title: "Found", isWide: true, cell: (row) => said(row.at("found")) },
    ],
  });
  return rows.length === 0 ? null : folded(`${rows.length} check${rows.length === 1 ? "" : "s"} passed`, table.element);
}

export function findingsSection(scene: Scene): HTMLElement {
  const all = scene.findings.map((finding, index) => article(scene, finding, index));
  const rest = all.slice(mostOpen);
  return section(
    { id: "findings", title: "What was found" },
    all.length === 0 ? note("Nothing that is not as it should be.") : null,
    h("div", "findings", ...all.slice(0, mostOpen)),
    rest.length > 0 ? folded(`${rest.length} more`, h("div", "findings", ...rest)) : null,
    passed(scene),
  );
}
