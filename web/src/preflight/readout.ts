// One way in full, beside the map: both directions, for they differ where a cable is bad.
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { cell, said } from "../element/shown";
import { holds, type Held } from "./held";
import type { Mesh, WayPlace } from "./model";
import type { Picks } from "./picks";

interface Line {
  readonly title: string;
  readonly name: string;
  readonly unit: string;
}

const ofWays: readonly Line[] = [
  { title: "Throughput, beside others", name: "tcp_mbps", unit: "mbps" },
  { title: "alone", name: "alone_mbps", unit: "mbps" },
  { title: "all at once", name: "together_mbps", unit: "mbps" },
  { title: "Share of expected", name: "expected_share", unit: "share" },
  { title: "Loss", name: "loss_percent", unit: "percent" },
  { title: "Retransmitted", name: "retransmitted_percent", unit: "percent" },
  { title: "Largest packet", name: "mtu_bytes", unit: "count" },
  { title: "Vanishes from", name: "black_hole_bytes", unit: "bytes" },
  { title: "Hops", name: "hops", unit: "count" },
  { title: "RDMA", name: "rdma_mbps", unit: "mbps" },
];

const ofPairs: readonly Line[] = [
  { title: "Round trip", name: "rtt_ms", unit: "ms" },
  { title: "slowest of 100", name: "rtt_p99_ms", unit: "ms" },
  { title: "RDMA latency", name: "rdma_latency_us", unit: "us" },
];

// The document has it from the pair's first host to its second, whichever way one looks.
function clockOf(mesh: Mesh, { from, to }: WayPlace): Line {
  const [first, second] = [Math.min(from, to), Math.max(from, to)].map((at) => mesh.names[at] ?? "");
  return { title: `Clock of ${second} less ${first}'s`, name: "clock_offset_ms", unit: "ms" };
}

function row(title: string, ...cells: Child[]): HTMLElement {
  const head = h("th", { attributes: { scope: "row" } }, title);
  return h("tr", {}, head, ...cells.map((each) => h("td", "numeric", each)));
}

function bothWays(mesh: Mesh, { from, to }: WayPlace, line: Line): Child {
  const there = mesh.figure(from, to, line.name, false);
  const back = mesh.figure(to, from, line.name, false);
  return there.number === null && back.number === null
    ? null
    : row(line.title, cell(there, line.unit), cell(back, line.unit));
}

function ofPair(mesh: Mesh, { from, to }: WayPlace, line: Line): Child {
  const value = mesh.figure(from, to, line.name, true);
  if (value.number === null) {
    return null;
  }
  const head = h("th", { attributes: { scope: "row" } }, line.title);
  const both = h("td", { class: "numeric", attributes: { colspan: 2 } }, cell(value, line.unit));
  return h("tr", {}, head, both);
}

function limits(mesh: Mesh, { from, to }: WayPlace): Child {
  const of = (left: number, right: number) => mesh.figure(left, right, "tcp_limit", false);
  const [there, back] = [of(from, to), of(to, from)];
  return there.text === null && back.text === null
    ? null
    : row("Held back by", said(there), said(back));
}

function figures(mesh: Mesh, way: WayPlace): Child {
  if (mesh.pairOf(way.from, way.to) < 0) {
    return h("p", "note", "These two were not tested with each other.");
  }
  const heads = ["there", "back"].map((text) =>
    h("th", { class: "numeric", attributes: { scope: "col" } }, text),
  );
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("th", { attributes: { scope: "col" } }, "Of this path"), ...heads)),
    h(
      "tbody",
      {},
      ...ofWays.map((line) => bothWays(mesh, way, line)),
      limits(mesh, way),
      ...[...ofPairs, clockOf(mesh, way)].map((line) => ofPair(mesh, way, line)),
    ),
  );
}

function findingLinks(mesh: Mesh, way: WayPlace, findings: readonly Ref[], held: readonly Held[]) {
  const about = findings.filter((_, index) => holds(mesh, held[index] as Held, way)).slice(0, 5);
  return about.map((finding) => {
    const index = findings.indexOf(finding);
    const link = h(
      "a",
      { attributes: { href: `#finding-${index}` } },
      `${finding.at("status").text ?? ""} ${finding.at("id").text ?? ""}`,
    );
    return h("li", {}, link);
  });
}

export function readout(
  mesh: Mesh,
  picks: Picks,
  findings: readonly Ref[],
  held: readonly Held[],
): HTMLElement {
  const box = h("div", { class: "way-figures", attributes: { "aria-live": "polite" } });
  const draw = () => {
    const { way } = picks;
    if (!way || way.from === way.to) {
      box.replaceChildren(
        h("p", "note", "Point at a path, or move there with the arrow keys, to see its figures."),
      );
      return;
    }
    const links = findingLinks(mesh, way, findings, held);
    const title = `${mesh.names[way.from] ?? ""} to ${mesh.names[way.to] ?? ""}`;
    box.replaceChildren(h("h3", {}, title));
    [figures(mesh, way), links.length > 0 ? h("ul", "missing", ...links) : null].forEach((part) => {
      if (part instanceof Node) {
        box.append(part);
      }
    });
  };
  picks.follow(draw);
  draw();
  return box;
}
