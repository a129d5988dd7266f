// What decided the median step: a row for each rank, on it the parts of the critical path, and an
// arrow where the path goes on at another rank.
import { accountOf, type Account } from "../accounting/accounts";
import { tile } from "../accounting/pattern";
import { swatch } from "../accounting/total_bar";
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, svg, type Child } from "../element/h";
import { list, note, section } from "../element/parts";
import { cell, shown } from "../element/shown";
import { format, tick } from "../format/units";

const rowHeight = 44;
const barHeight = 26;
const barTop = (rowHeight - barHeight) / 2;
const axisHeight = 22;
const mostRanks = 8; // of more, only those that the path is on
const sharesWithText = { words: 0.2, time: 0.08 };

const kinds: Record<string, Account> = {
  computing: accountOf("compute"),
  late: { ...accountOf("straggler"), name: "Late: others wait" },
  transfer: {
    id: "transfer",
    name: "Data under way",
    meaning: "",
    colour: "#4a90d0",
    pattern: "plain",
  },
  overhead: { ...accountOf("latency"), name: "Round trips, library" },
};
const lookOf = (kind: string): Account => kinds[kind] ?? accountOf(kind);

interface Row {
  readonly rank: number | null;
  readonly node: string;
}

interface Part extends Row {
  readonly kind: string;
  readonly to: number | null;
  readonly start: number;
  readonly ms: number;
  readonly share: number;
}

const isSame = (a: Row, b: Row): boolean => a.rank === b.rank && a.node === b.node;
const rowOf = (ref: Ref): Row => ({ rank: ref.at("rank").number, node: ref.at("node").text ?? "" });
const nameOf = ({ rank, node }: Row): string =>
  [rank === null ? "a rank" : `rank ${rank}`, node].filter(Boolean).join(" on ");

const partOf = (ref: Ref, stepMs: number): Part => ({
  ...rowOf(ref),
  kind: ref.at("kind").text ?? "",
  to: ref.at("to_rank").number,
  start: ref.at("start_ms").number ?? 0,
  ms: ref.at("ms").number ?? 0,
  share: (ref.at("ms").number ?? 0) / stepMs,
});

function rowsOf(parts: readonly Part[], ranks: readonly Ref[]): Row[] {
  const all: Row[] = ranks.length <= mostRanks ? ranks.map(rowOf) : [];
  for (const { rank, node } of parts) {
    if (!all.some((each) => isSame(each, { rank, node }))) {
      all.push({ rank, node });
    }
  }
  return all.sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1));
}

function words(part: Part): string {
  const who = nameOf(part);
  const sentences: Record<string, string> = {
    computing: `${who} computes`,
    late: `${who} still computes, and others wait for it`,
    transfer:
      part.to === null
        ? `${who} exchanges data`
        : `data are under way from ${who} to rank ${part.to}`,
    overhead: `${who} waits for round trips or the library`,
  };
  return sentences[part.kind] ?? `${who}: ${part.kind}`;
}

const sentence = (part: Part): string =>
  `${words(part)}: ${format(part.ms, "step_ms")}, ${format(part.share, "share")}`;

function label(part: Part): Child {
  if (part.share < sharesWithText.time) {
    return null;
  }
  const time = format(part.ms, "step_ms");
  const text = part.share < sharesWithText.words ? time : `${lookOf(part.kind).name} ${time}`;
  return svg("text", { class: "path-words", x: "50%", y: barHeight / 2 + 4 }, text);
}

// What its rows and times are in the picture.
class Scale {
  constructor(
    readonly rows: readonly Row[],
    readonly stepMs: number,
  ) {}

  x(ms: number): string {
    return `${((100 * ms) / this.stepMs).toFixed(3)}%`;
  }

  // Of the row, -1: there is none.
  place(row: Row): number {
    return this.rows.findIndex((each) => isSame(each, row));
  }

  get height(): number {
    return this.rows.length * rowHeight;
  }
}

function bar(part: Part, scale: Scale): SVGElement {
  const y = scale.place(part) * rowHeight + barTop;
  return svg(
    "svg",
    { class: "path-part", x: scale.x(part.start), y, width: scale.x(part.ms), height: barHeight },
    svg("title", {}, sentence(part)),
    svg("rect", { width: "100%", height: "100%", rx: 3, fill: `url(#path-${part.kind})` }),
    label(part),
  );
}

// To where data pass, or else the path goes on.
function arrow(part: Part, next: Part | undefined, scale: Scale): Child {
  const from = scale.place(part);
  const to =
    part.to === null
      ? scale.place(next ?? part)
      : scale.rows.findIndex((row) => row.rank === part.to);
  if (to < 0 || to === from) {
    return null;
  }
  const x = scale.x(part.start + part.ms);
  const [y1, y2] = to > from ? [barTop + barHeight, barTop - 2] : [barTop, barTop + barHeight + 2];
  return svg("line", {
    class: part.kind === "transfer" ? "path-arrow" : "path-arrow waits",
    x1: x,
    x2: x,
    y1: from * rowHeight + y1,
    y2: to * rowHeight + y2,
    "marker-end": "url(#path-head)",
  });
}

function fill(kind: string): SVGElement {
  const image = tile(lookOf(kind));
  const size = { width: image.width, height: image.height };
  return svg(
    "pattern",
    { id: `path-${kind}`, patternUnits: "userSpaceOnUse", ...size },
    svg("image", { href: image.toDataURL(), ...size }),
  );
}

function axis(scale: Scale): SVGElement[] {
  return [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const x = `${100 * share}%`;
    const name = share % 0.5 === 0 ? "path-tick" : "path-tick quarter";
    const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
    const text = tick(share * scale.stepMs, "step_ms");
    return [
      svg("line", { class: "path-grid", x1: x, x2: x, y1: 0, y2: scale.height }),
      svg("text", { class: name, x, y: scale.height + 16, "text-anchor": anchor }, text),
    ];
  });
}

function drawing(parts: readonly Part[], scale: Scale): SVGElement {
  const head = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9 };
  return svg(
    "svg",
    {
      class: "path-drawing",
      role: "img",
      "aria-labelledby": "path-name path-told",
      width: "100%",
      height: scale.height + axisHeight,
    },
    svg("title", { id: "path-name" }, "the critical path of the median step, by rank"),
    svg("desc", { id: "path-told" }, parts.map(sentence).join("; ")),
    svg(
      "defs",
      {},
      ...[...new Set(parts.map((each) => each.kind))].map(fill),
      svg(
        "marker",
        { id: "path-head", orient: "auto", markerUnits: "userSpaceOnUse", ...head },
        svg("path", { d: "M0 0L8 4L0 8z", class: "path-head" }),
      ),
    ),
    ...axis(scale),
    ...scale.rows.map((_, place) =>
      svg("rect", {
        class: "path-lane",
        y: place * rowHeight + barTop,
        width: "100%",
        height: barHeight,
        rx: 3,
      }),
    ),
    ...parts.map((part) => bar(part, scale)),
    ...parts.map((part, place) => arrow(part, parts[place + 1], scale)),
  );
}

function legend(parts: readonly Part[]): HTMLElement {
  const items = Object.keys(kinds).flatMap((kind) => {
    const share = parts.reduce((sum, each) => sum + (each.kind === kind ? each.share : 0), 0);
    const { name } = lookOf(kind);
    return share > 0 ? [[swatch(lookOf(kind)), `${name} ${format(share, "share")}`]] : [];
  });
  return list("ul", items, "legend flat");
}

function rowName({ rank, node }: Row): HTMLElement {
  return h("li", {}, h("b", {}, nameOf({ rank, node: "" })), h("small", {}, node));
}

// The longest, those alike as one.
function longest(parts: readonly Part[]): HTMLElement {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const { ms, share } = sums.get(words(part)) ?? { ms: 0, share: 0 };
    sums.set(words(part), { ...part, ms: ms + part.ms, share: share + part.share });
  }
  const most = [...sums.values()].sort((a, b) => b.ms - a.ms).slice(0, 3);
  return list("ol", most.map((part) => [sentence(part)]), "path-longest");
}

export function criticalPathSection(report: Ref<Report>): HTMLElement {
  const path = report.at("diagnosis", "critical_path");
  const text = { id: "critical-path", title: "What decides a step" };
  const stepMs = path.at("length_ms").number ?? 0;
  const parts = path.at("parts").items.map((each) => partOf(each, stepMs));
  if (parts.length === 0 || stepMs <= 0) {
    return section(text, note("Not measured: the records do not show who waited for whom."));
  }
  const rows = rowsOf(parts, report.at("diagnosis", "ranks").items);
  return section(
    text,
    h(
      "p",
      "lead",
      "The critical path of step ",
      cell(path.at("step"), "plain"),
      ", the median one: ",
      shown(path.at("length_ms"), "step_ms"),
      ". Only what is on it makes the step longer.",
    ),
    longest(parts),
    h(
      "figure",
      "critical-path",
      h("figcaption", {}, legend(parts)),
      h("ul", { class: "path-rows", attributes: { "aria-hidden": "true" } }, ...rows.map(rowName)),
      drawing(parts, new Scale(rows, stepMs)),
    ),
  );
}
