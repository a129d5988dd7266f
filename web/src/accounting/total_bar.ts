// The mean step as one bar. The table beside it says the same in words and numbers.
import type { Report } from "../document/documents";
import type { Ref } from "../document/ref";
import { h } from "../element/h";
import { cell } from "../element/shown";
import { format } from "../format/units";
import { Table } from "../table/table";
import { accountOf, type Account } from "./accounts";
import { cssFill } from "./pattern";

export interface Share {
  readonly account: Account;
  readonly ms: Ref;
  readonly share: number | null;
}

export function sharesOf(accounting: Ref<Report["accounting"]>): Share[] {
  const totals = accounting.at("total_ms_per_step");
  const sum = totals.numbers.reduce<number>((all, each) => all + (each ?? 0), 0);
  return accounting.at("accounts").texts.map((id, index) => {
    const ms = totals.at(index);
    const share = ms.number === null || sum <= 0 ? null : ms.number / sum;
    return { account: accountOf(id), ms, share };
  });
}

export function swatch(account: Account): HTMLElement {
  return h("span", {
    class: "swatch",
    attributes: { "aria-hidden": true },
    variables: { "--fill": cssFill(account) },
  });
}

const isSeen = (share: Share): boolean => (share.share ?? 0) > 0;

function piece(share: Share): HTMLElement {
  const percent = format(share.share ?? 0, "share");
  const ms = format(share.ms.number ?? 0, "step_ms");
  return h(
    "div",
    {
      class: (share.share ?? 0) >= 0.08 ? "piece labelled" : "piece",
      attributes: { title: `${share.account.name}: ${ms}, ${percent}` },
      variables: { "--share": String(share.share), "--fill": cssFill(share.account) },
    },
    h("span", {}, `${share.account.name} ${percent}`),
  );
}

export function totalBar(shares: readonly Share[]): HTMLElement {
  const seen = shares.filter(isSeen);
  const label = seen
    .map((each) => `${each.account.name} ${format(each.share ?? 0, "share")}`)
    .join(", ");
  return h(
    "div",
    { class: "total-bar", attributes: { role: "img", "aria-label": `a mean step: ${label}` } },
    ...seen.map(piece),
  );
}

export function sharesTable(shares: readonly Share[]): HTMLElement {
  return new Table<Share>({
    label: "where the time of a step goes",
    rows: shares,
    rowName: (row) => (isSeen(row) ? "" : "faint"),
    columns: [
      {
        title: "Account",
        cell: (row) => h("span", "account", swatch(row.account), row.account.name),
        value: (row) => row.account.name,
      },
      { title: "What it means", isWide: true, cell: (row) => row.account.meaning },
      {
        title: "A step",
        isNumber: true,
        cell: (row) => cell(row.ms, "step_ms"),
        value: (row) => row.ms.number,
      },
      {
        title: "Share",
        isNumber: true,
        cell: (row) => (row.share === null ? "–" : format(row.share, "share")),
        value: (row) => row.share,
      },
    ],
  }).element;
}
