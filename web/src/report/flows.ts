// All flows of the run, to sort and to filter.
import type { Flow } from "../document/flow";
import { h, type Child } from "../element/h";
import { note, section } from "../element/parts";
import { cell, said } from "../element/shown";
import { filterBox } from "../table/filter";
import { Table, type Column } from "../table/table";
import type { Selection } from "../timeline/selection";

type Way = "a_to_b" | "b_to_a";

function end(flow: Flow, which: "a" | "b"): Child {
  const ref = flow.ref.at(which);
  const { rank } = flow[which];
  return h(
    "span",
    "end",
    h("b", {}, said(ref.at("name"), flow[which].address)),
    rank === null ? null : h("small", {}, "rank ", cell(ref.at("rank"), "plain")),
    h("small", "address", said(ref.at("address")), ":", cell(ref.at("port"), "plain")),
  );
}

// Both ways above each other.
function ways(of: (way: Way) => Child): HTMLElement {
  return h(
    "span",
    "ways",
    h("span", {}, h("i", {}, "→ "), of("a_to_b")),
    h("span", {}, h("i", {}, "← "), of("b_to_a")),
  );
}

function again(flow: Flow, way: Way): Child {
  const percent = flow.ref.at(way, "retransmitted_percent");
  const count = cell(flow.ref.at(way, "retransmitted_packets"), "packets");
  return percent.number ? h("span", {}, count, " · ", cell(percent, "percent")) : count;
}

function both(title: string, key: string, unit: string, hint: string): Column<Flow> {
  const of = (flow: Flow, way: Way) => flow.ref.at(way, key);
  return {
    title,
    hint,
    isNumber: true,
    cell: (flow) => ways((way) => cell(of(flow, way), unit)),
    value: (flow) => {
      const [there, back] = [of(flow, "a_to_b").number, of(flow, "b_to_a").number];
      return there === null && back === null ? null : Math.max(there ?? 0, back ?? 0);
    },
  };
}

function limits(flow: Flow, way: Way): Child {
  const entries = flow.ref.at(way, "limited_by").entries.filter(([, ms]) => (ms.number ?? 0) > 0);
  const [name, ms] =
    entries.sort(([, left], [, right]) => (right.number ?? 0) - (left.number ?? 0))[0] ?? [];
  return name && ms
    ? h("span", {}, `${name.replaceAll("_", " ")} `, cell(ms, "ms"))
    : h("span", "unknown", "–");
}

function timelineSwitch(flow: Flow, selection: Selection): HTMLElement {
  if (!selection.canHave(flow.index)) {
    return h(
      "span",
      { class: "unknown", attributes: { title: "it has no curve in the timeline" } },
      "–",
    );
  }
  const label = `show ${flow.label} in the timeline`;
  const box = h("input", { attributes: { type: "checkbox", "aria-label": label, title: label } });
  const say = () => (box.checked = selection.hasFlow(flow.index));
  box.addEventListener("change", () => selection.setFlow(flow.index, box.checked));
  selection.follow(say);
  say();
  return box;
}

function columns(selection: Selection): Column<Flow>[] {
  return [
    { title: "A", cell: (flow) => end(flow, "a"), value: (flow) => flow.a.name },
    { title: "B", cell: (flow) => end(flow, "b"), value: (flow) => flow.b.name },
    {
      title: "Chart",
      name: "screen",
      hint: "show it in the timeline",
      cell: (flow) => timelineSwitch(flow, selection),
    },
    both("Bytes", "bytes", "bytes", "all bytes in each direction, headers included"),
    both("Throughput", "throughput_mbps", "mbps", "while it lasted"),
    {
      ...both("Retransmitted", "retransmitted_packets", "packets", ""),
      hint: "packets, and their share of all",
      cell: (flow) => ways((way) => again(flow, way)),
    },
    {
      title: "Round trip",
      hint: "median",
      isNumber: true,
      cell: (flow) => cell(flow.ref.at("rtt_ms", "median"), "ms"),
      value: (flow) => flow.ref.at("rtt_ms", "median").number,
    },
    {
      title: "p99",
      hint: "of the round trip",
      isNumber: true,
      cell: (flow) => cell(flow.ref.at("rtt_ms", "p99"), "ms"),
      value: (flow) => flow.ref.at("rtt_ms", "p99").number,
    },
    both("In flight", "max_in_flight_bytes", "bytes", "at most"),
    both("Window", "max_window_bytes", "bytes", "of the receiver, at most"),
    {
      title: "Mostly limited by",
      name: "held",
      cell: (flow) => ways((way) => limits(flow, way)),
    },
    {
      title: "Process",
      name: "screen process",
      cell: (flow) => said(flow.ref.at("process")),
      value: (flow) => flow.ref.at("process").text,
    },
    {
      title: "Interface",
      cell: (flow) => said(flow.ref.at("interface")),
      value: (flow) => flow.ref.at("interface").text,
    },
  ];
}

export function flowsSection(
  flows: readonly Flow[],
  selection: Selection,
  matrix: Child,
): HTMLElement {
  const text = { id: "flows", title: "Flows" };
  if (flows.length === 0) {
    return section(text, note("No connection of this job was seen."), matrix);
  }
  const table = new Table<Flow>({
    label: "flows",
    rows: flows,
    columns: columns(selection),
    sort: { column: 3, direction: "descending" },
  });
  return section(
    text,
    matrix,
    h("h3", {}, "Each of them"),
    filterBox(table, flows.length, "flows", "node, address, port, rank …", (flow) => flow.searched),
    table.element,
  );
}
