// The way of data out of a host: its PCIe link, the card, the paths to its peers. Each link with what
// it carries against what it could.
import type { Ref } from "../document/ref";
import { gauge } from "../element/gauge";
import { h, type Child } from "../element/h";
import { cell, said, shown } from "../element/shown";

const generation = (link: Ref, prefix: string): Child =>
  h(
    "span",
    {},
    cell(link.at(`${prefix}speed_gts`), "gts"),
    " ",
    cell(link.at(`${prefix}width`), "lanes"),
  );

function box(name: string, ...children: Child[]): HTMLElement {
  return h("div", `box ${name}`, ...children);
}

function pcieLink(pcie: Ref): HTMLElement {
  if (!pcie.isKnown) {
    return h(
      "div",
      "wire",
      h("span", "wire-name", "no PCIe link"),
      h("small", {}, "a virtual card, or none was found"),
    );
  }
  return h(
    "div",
    "wire",
    h("span", "wire-name", "PCIe ", h("small", {}, said(pcie.at("bus_id")))),
    gauge(pcie.at("ceiling_mbps"), pcie.at("possible_mbps"), "mbps", true),
    h("small", {}, generation(pcie, ""), ", could be ", generation(pcie, "max_")),
  );
}

function card(one: Ref): HTMLElement {
  const addresses = one.at("addresses").texts.filter((each) => !each.startsWith("fe80:"));
  return box(
    "card",
    h("b", {}, said(one.at("name"))),
    h("small", {}, [one.at("kind").text, one.at("driver").text].filter(Boolean).join(", ")),
    h("span", {}, "line ", shown(one.at("speed_mbps"), "mbps")),
    h("span", {}, "peak ", shown(one.at("peak_mbps"), "mbps")),
    h(
      "small",
      {},
      "sent ",
      cell(one.at("sent_bytes"), "bytes"),
      ", received ",
      cell(one.at("received_bytes"), "bytes"),
    ),
    addresses.length > 0 ? h("small", "address", addresses.join(", ")) : null,
    one.at("is_up").value === false ? h("small", "warn", "down") : null,
  );
}

const bounds: Record<string, string> = {
  full: "full: a queue stood before its slowest link",
  interface: "by the line of the interface",
  pcie: "by the card's slot",
  probe: "by a probe before the run",
};

function pathRow(path: Ref): HTMLElement {
  const limit = path.at("limit").text;
  return h(
    "div",
    "hop",
    h(
      "div",
      "wire",
      h(
        "span",
        "wire-name",
        path.at("is_wan").isTrue ? "wide-area path " : "path ",
        h("small", {}, "round trip ", shown(path.at("min_rtt_ms"), "ms")),
      ),
      gauge(path.at("reached_mbps"), path.at("possible_mbps"), "mbps", false),
      limit ? h("small", {}, bounds[limit] ?? limit) : null,
    ),
    box("peer", h("b", {}, said(path.at("to"))), h("small", {}, said(path.at("family")))),
  );
}

const isDrawn = (one: Ref): boolean => one.at("used").isTrue || one.at("pcie").isKnown;

function cardRow(one: Ref, paths: readonly Ref[]): HTMLElement {
  const isUsed = one.at("used").isTrue;
  return h(
    "div",
    isUsed ? "way" : "way unused",
    pcieLink(one.at("pcie")),
    card(one),
    h("div", "hops", ...(isUsed ? paths.map(pathRow) : [h("p", "faint", "not used by the job")])),
  );
}

function gpuRow(gpu: Ref): HTMLElement {
  return h(
    "div",
    "way",
    pcieLink(gpu.at("pcie")),
    box("card", h("b", {}, said(gpu.at("name"))), h("small", {}, "GPU")),
  );
}

export function picture(host: Ref, paths: readonly Ref[]): HTMLElement {
  const cards = host.at("interfaces").items.filter(isDrawn);
  const ways = [...cards.map((one) => cardRow(one, paths)), ...host.at("gpus").items.map(gpuRow)];
  const figure = h(
    "figure",
    "picture",
    box(
      "host",
      h("b", {}, said(host.at("name"))),
      h("small", {}, said(host.at("cpu"), "processor not known")),
    ),
  );
  figure.append(
    h(
      "div",
      "ways-out",
      ...(ways.length > 0 ? ways : [h("p", "note", "No card of this host was recorded.")]),
    ),
  );
  figure.setAttribute("aria-label", `how data leave ${host.at("name").text ?? "this host"}`);
  return figure;
}
