// Hosts and figures as a table: what changed and who differs has a colour and says so in words. Each
// cell leads to its subject; arrow keys walk from cell to cell.
import type { WebFleet } from "../document/documents";
import type { Ref } from "../document/ref";
import { h, type Child } from "../element/h";
import { scrollBox } from "../element/parts";
import { shown } from "../element/shown";
import { toSubject } from "./address";
import { percentText, shortDate, timesText } from "./words";

const steps: Record<string, readonly [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export type Row = Ref<WebFleet["subjects"][number]>;
type Cell = Ref<WebFleet["subjects"][number]["cells"][number]>;
type Column = Ref<WebFleet["columns"][number]>;

// How far from usual: 0 is usual, 4 the worst. A host that differs may be the better one.
export function gradeOf(cell: Cell, better: string | null): number {
  const percent = Math.abs(cell.at("percent").number ?? 100);
  if (cell.at("worse").isTrue) {
    return percent >= 50 ? 4 : percent >= 15 ? 3 : 2;
  }
  const times = cell.at("times").number;
  const isUnlike = cell.at("others").isKnown;
  const isBetter = times !== null && ((better === "more" && times > 1) || (better === "less" && times < 1));
  return isUnlike && !isBetter ? 2 : 0;
}

const columnOf = (cell: Cell): number => cell.at("column").number ?? 0;

export function isUnusual(row: Row, columns: readonly Column[]): boolean {
  return row
    .at("cells")
    .items.some((cell) => gradeOf(cell, columns[columnOf(cell)]?.at("better").text ?? null) > 0);
}

function remarks(cell: Cell): string[] {
  const percent = cell.at("percent").number;
  const since = cell.at("since").text;
  const times = cell.at("times").number;
  const all: string[] = [];
  if (since !== null) {
    const size = percent === null ? "changed" : percentText(percent);
    all.push(`${size} since ${shortDate(since, new Date())}`);
  }
  if (cell.at("others").isKnown) {
    all.push(times === null ? "unlike the others" : timesText(times));
  }
  return all;
}

function square(row: Row, cell: Cell | undefined, column: Column): HTMLElement {
  if (!cell) {
    return h("td", "none", "·");
  }
  const subject = row.at("subject").text ?? "";
  const said = remarks(cell);
  const grade = gradeOf(cell, column.at("better").text);
  const isBetter = cell.at("worse").value === false;
  return h(
    "td",
    grade > 0 ? `grade-${grade}` : "",
    h(
      "a",
      {
        attributes: {
          href: toSubject(subject, column.at("metric").text ?? ""),
          tabindex: -1,
          title: `${subject}: ${column.at("title").text ?? ""}, measured ${cell.at("at").text ?? ""}`,
        },
      },
      shown(cell.at("value"), column.at("unit").text ?? ""),
      ...said.map((each): Child => h("small", isBetter ? "mark better" : "", each)),
    ),
  );
}

function header(column: Column): HTMLElement {
  const setting = column.at("setting").text;
  return h(
    "th",
    { attributes: { scope: "col", title: setting } },
    column.at("title").text ?? "",
    setting === null ? null : h("small", {}, setting),
  );
}

function walk(table: HTMLElement, event: KeyboardEvent): void {
  const step = steps[event.key];
  const own = (event.target as HTMLElement).closest("td");
  if (!step || !own) {
    return;
  }
  const lines = [...table.querySelectorAll("tbody tr")].map((line) => [...line.querySelectorAll("td")]);
  let row = lines.findIndex((line) => line.includes(own));
  let column = lines[row]?.indexOf(own) ?? -1;
  for (;;) {
    row += step[0];
    column += step[1];
    const cell = lines[row]?.[column];
    if (!cell) {
      return;
    }
    const link = cell.querySelector("a");
    if (link) {
      event.preventDefault();
      link.focus();
      return;
    }
  }
}

// One cell is reached by Tab, the others from there.
function letTabIn(table: HTMLElement): void {
  table.querySelector("td a")?.setAttribute("tabindex", "0");
  table.addEventListener("focusin", (event) => {
    const link = (event.target as HTMLElement).closest("td a");
    if (link) {
      table.querySelectorAll('td a[tabindex="0"]').forEach((each) => each.setAttribute("tabindex", "-1"));
      link.setAttribute("tabindex", "0");
    }
  });
}

interface UsedColumn {
  readonly column: Column;
  readonly index: number;
  readonly grade: number;
}

// Those with a cell, the worst first.
function columnsIn(rows: readonly Row[], columns: readonly Column[]): UsedColumn[] {
  const cells = rows.flatMap((row) => row.at("cells").items);
  return columns
    .map((column, index) => {
      const own = cells.filter((cell) => columnOf(cell) === index);
      const better = column.at("better").text;
      return { column, index, grade: Math.max(-1, ...own.map((cell) => gradeOf(cell, better))) };
    })
    .filter(({ grade }) => grade >= 0)
    .sort((one, other) => other.grade - one.grade);
}

export function mapOf(rows: readonly Row[], columns: readonly Column[], label: string): HTMLElement {
  const used = columnsIn(rows, columns);
  const lines = rows.map((row) => {
    const cells = new Map(row.at("cells").items.map((cell) => [columnOf(cell), cell]));
    const subject = row.at("subject").text ?? "";
    return h(
      "tr",
      {},
      h("th", { attributes: { scope: "row" } }, h("a", { attributes: { href: toSubject(subject) } }, subject)),
      ...used.map(({ column, index }) => square(row, cells.get(index), column)),
    );
  });
  const table = h(
    "table",
    "fleet-map",
    h("thead", {}, h("tr", {}, h("td", "corner"), ...used.map(({ column }) => header(column)))),
    h("tbody", {}, ...lines),
  );
  letTabIn(table);
  table.addEventListener("keydown", (event) => walk(table, event));
  return scrollBox(label, table);
}
