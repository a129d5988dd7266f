// What a comparison's document says, as the sections need it. Pure.
import type { Ref } from "../document/ref";

export interface Figure {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
}

export interface Group {
  readonly ref: Ref;
  readonly index: number;
  readonly name: string;
}

// Means and spreads of steps in one unit, so that they can be told apart by eye.
const unitOf = (unit: string): string => (unit === "ms" ? "step_ms" : unit);

const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function figuresOf(document: Ref): Figure[] {
  const sample = document.at("unit").text ?? "samples";
  return document.at("figures").items.map((each) => {
    const unit = each.at("unit").text ?? "";
    const title = each.at("title").text ?? each.at("key").text ?? "";
    return {
      key: each.at("key").text ?? "",
      title: titled(unit === "per_s" && sample !== "samples" ? `${title}, ${sample}` : title),
      unit: unitOf(unit),
    };
  });
}

export const groupsOf = (document: Ref): Group[] =>
  document.at("groups").items.map((ref, index) => ({
    ref,
    index,
    name: ref.at("name").text ?? `row ${index + 1}`,
  }));

export const meanOf = (group: Group, figure: Figure): Ref =>
  group.ref.at("figures", figure.key, "mean");
export const spreadOf = (group: Group, figure: Figure): Ref =>
  group.ref.at("figures", figure.key, "sd");

// The figures that a chart is worth: known for two rows at least.
export function drawable(figures: readonly Figure[], groups: readonly Group[]): Figure[] {
  return figures.filter(
    (figure) => groups.filter((group) => meanOf(group, figure).number !== null).length > 1,
  );
}

export interface Cluster {
  readonly categories: string[];
  readonly series: string[];
  readonly at: (Group | null)[][]; // by series, by category
}

const keyOf = (group: Group, key: string): string => group.ref.at("keys", key).text ?? "–";

// Rows by setup, bars of a setup by parallelism: the last key that makes more than one row of the same
// others. Where there is none, each row is a bar of its own.
export function clusterOf(document: Ref, groups: readonly Group[]): Cluster {
  const keys = document.at("by").texts;
  const differing = keys.filter(
    (key) => new Set(groups.map((group) => keyOf(group, key))).size > 1,
  );
  const last = differing[differing.length - 1];
  const others = differing.slice(0, -1);
  const series = last ? [...new Set(groups.map((group) => keyOf(group, last)))] : [];
  if (!last || others.length === 0 || series.length > 6) {
    return { categories: groups.map((group) => group.name), series: [""], at: [[...groups]] };
  }
  const category = (group: Group) => others.map((key) => keyOf(group, key)).join(" ");
  const categories = [...new Set(groups.map(category))];
  const at = series.map((name) =>
    categories.map(
      (each) =>
        groups.find((group) => keyOf(group, last) === name && category(group) === each) ?? null,
    ),
  );
  return { categories, series, at };
}
