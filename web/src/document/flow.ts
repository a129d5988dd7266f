// What the page knows of a flow, by the place it has in the document.
import type { Report } from "./documents";
import type { Ref } from "./ref";

export interface End {
  readonly name: string;
  readonly address: string;
  readonly port: number | null;
  readonly rank: number | null;
}

export interface Flow {
  readonly ref: Ref;
  readonly index: number;
  readonly a: End;
  readonly b: End;
  readonly bytes: number;
  readonly label: string;
  readonly searched: string;
}

function endOf(ref: Ref): End {
  const address = ref.at("address").text ?? "";
  return {
    name: ref.at("name").text ?? address,
    address,
    port: ref.at("port").number,
    rank: ref.at("rank").number,
  };
}

const called = (end: End): string => (end.port === null ? end.name : `${end.name}:${end.port}`);

function flowOf(ref: Ref, index: number): Flow {
  const a = endOf(ref.at("a"));
  const b = endOf(ref.at("b"));
  const bytes = (way: string) => ref.at(way, "bytes").number ?? 0;
  const words = [a, b].map((end) => `${end.name} ${end.address}:${end.port} rank ${end.rank}`);
  const more = ["protocol", "interface", "process"].map((key) => ref.at(key).text ?? "");
  return {
    ref,
    index,
    a,
    b,
    bytes: bytes("a_to_b") + bytes("b_to_a"),
    label: `${called(a)} ⇄ ${called(b)}`,
    searched: [...words, ...more].join(" "),
  };
}

export const flowsOf = (report: Ref<Report>): Flow[] => report.at("flows").items.map(flowOf);

export function largest(flows: readonly Flow[], count: number): number[] {
  return [...flows]
    .sort((left, right) => right.bytes - left.bytes)
    .slice(0, count)
    .map((flow) => flow.index);
}
