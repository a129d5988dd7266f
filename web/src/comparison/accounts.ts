// Where the time of a mean step goes in each row, on one scale: what grew can be seen.
import { accountOf, type Account } from "../accounting/accounts";
import { cssFill } from "../accounting/pattern";
import { swatch } from "../accounting/total_bar";
import { h } from "../element/h";
import { shown } from "../element/shown";
import { format } from "../format/units";
import type { Figure, Group } from "./model";
import { meanOf } from "./model";

interface Part {
  readonly account: Account;
  readonly ms: number;
}

const step: Figure = { key: "step_ms", title: "", unit: "ms" };

const partsOf = (group: Group): Part[] =>
  group.ref
    .at("accounting_ms_per_step")
    .entries.map(([id, ms]) => ({ account: accountOf(id), ms: ms.number ?? 0 }))
    .filter((part) => part.ms > 0);

const sum = (parts: readonly Part[]): number => parts.reduce((all, part) => all + part.ms, 0);

function bar(group: Group, most: number): HTMLElement {
  const parts = partsOf(group);
  const label = parts
    .map((part) => `${part.account.name} ${format(part.ms, "step_ms")}`)
    .join(", ");
  const pieces = parts.map((part) =>
    h("div", {
      class: "piece",
      attributes: { title: `${part.account.name}: ${format(part.ms, "step_ms")}` },
      variables: { "--share": String(part.ms / most), "--fill": cssFill(part.account) },
    }),
  );
  return h(
    "div",
    "account-row",
    h("span", "account-name", group.name),
    h(
      "div",
      {
        class: "total-bar slim",
        attributes: { role: "img", "aria-label": `${group.name}: ${label}` },
      },
      ...pieces,
    ),
    shown(meanOf(group, step), "step_ms"),
  );
}

export function accountBars(groups: readonly Group[]): HTMLElement | null {
  const known = groups.filter((group) => group.ref.at("accounting_ms_per_step").isKnown);
  if (known.length === 0) {
    return null;
  }
  const most = Math.max(...known.map((group) => sum(partsOf(group))), 1e-9);
  const used = new Map(known.flatMap(partsOf).map((part) => [part.account.id, part.account]));
  return h(
    "div",
    "stack",
    h(
      "ul",
      "legend flat",
      ...[...used.values()].map((account) => h("li", {}, swatch(account), account.name)),
    ),
    ...known.map((group) => bar(group, most)),
  );
}
