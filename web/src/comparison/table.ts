// The rows of a comparison: means with their spread, and what differs beyond noise.
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { cell, said } from "../element/shown";
import { Table, type Column } from "../table/table";
import { meanOf, spreadOf, type Figure, type Group } from "./model";

function estimate(group: Group, figure: Figure): Child {
  const mean = meanOf(group, figure);
  const spread = spreadOf(group, figure);
  return h(
    "span",
    "estimate",
    cell(mean, figure.unit),
    spread.number === null ? null : h("small", {}, "± ", cell(spread, figure.unit)),
  );
}

function figureColumn(figure: Figure): Column<Group> {
  return {
    title: figure.title,
    isNumber: true,
    cell: (group) => estimate(group, figure),
    value: (group) => meanOf(group, figure).number,
  };
}

// The mark is a word: neither colour nor a sign alone.
function mark(difference: Ref): Child {
  if (difference.at("is_beyond_noise").value !== true) {
    return h("small", {}, "noise");
  }
  const isWorse = difference.at("is_worse").value;
  const word = isWorse === true ? "worse" : isWorse === false ? "better" : "differs";
  return h("small", `mark ${word}`, word);
}

function changeCell(group: Group): Child {
  if (group.ref.at("is_baseline").isTrue && !group.ref.at("difference").isKnown) {
    return h("small", {}, "baseline");
  }
  const difference = group.ref.at("difference");
  const percent = difference.at("change_percent");
  return percent.number === null
    ? cell(percent, "change")
    : h("span", "estimate", cell(percent, "change"), mark(difference));
}

function verdictCell(group: Group): Child {
  const lost = group.ref.at("verdict", "lost_ms_per_step");
  return h(
    "span",
    {},
    said(group.ref.at("verdict", "class")),
    lost.number ? h("small", {}, cell(lost, "step_ms"), " a step") : null,
  );
}

const others: Record<string, Column<Group>> = {
  runs: {
    title: "Runs",
    isNumber: true,
    cell: (group) => String(group.ref.at("runs").items.length),
    value: (group) => group.ref.at("runs").items.length,
  },
  change: {
    title: "Against the baseline",
    isNumber: true,
    cell: changeCell,
    value: (group) => group.ref.at("difference", "change_percent").number,
  },
  verdict: {
    title: "Verdict",
    cell: verdictCell,
    value: (group) => group.ref.at("verdict", "class").text,
  },
};

function keyColumns(document: Ref, groups: readonly Group[]): Column<Group>[] {
  const keys = document.at("by").texts.filter((key) => {
    const values = groups.map((group) => group.ref.at("keys", key).text);
    return key !== "folder" && new Set(values).size > 1;
  });
  const name: Column<Group> = {
    title: keys.length > 0 ? (keys[0] as string) : "Row",
    cell: (group) => (keys.length > 0 ? said(group.ref.at("keys", keys[0] as string)) : group.name),
    value: (group) => group.name,
  };
  const isNamed =
    new Set(groups.map((group) => keys.map((key) => group.ref.at("keys", key).text).join("\n")))
      .size === groups.length;
  const first = isNamed
    ? name
    : { title: "Row", cell: (group: Group) => group.name, value: (group: Group) => group.name };
  return [
    first,
    ...keys.slice(isNamed ? 1 : 0).map((key) => ({
      title: key,
      cell: (group: Group) => said(group.ref.at("keys", key)),
      value: (group: Group) => group.ref.at("keys", key).text,
    })),
  ];
}

export function groupsTable(
  document: Ref,
  figures: readonly Figure[],
  groups: readonly Group[],
): HTMLElement {
  const shown = document.at("shown").texts.flatMap((key) => {
    const figure = figures.find((each) => each.key === key);
    return figure ? [figureColumn(figure)] : (others[key] ?? []);
  });
  return new Table<Group>({
    label: "rows that are compared",
    rows: groups,
    rowName: (group) => (group.ref.at("is_baseline").isTrue ? "baseline" : ""),
    columns: [...keyColumns(document, groups), ...shown],
  }).element;
}
