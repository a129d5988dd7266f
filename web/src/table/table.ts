// A table that can be sorted by its headers: buttons, so that Tab and Enter do what a click does.
import { append, h, type Child } from "../element/h";
import { scrollBox } from "../element/parts";
import { ordered, type Direction, type Value } from "./order";

export interface Column<Row> {
  readonly title: string;
  readonly hint?: string;
  readonly isNumber?: boolean;
  readonly isWide?: boolean;
  readonly name?: string; // a class for its cells
  readonly cell: (row: Row) => Child;
  readonly value?: (row: Row) => Value; // without it nobody can sort by this column
}

export interface TableOptions<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly sort?: { column: number; direction: Direction };
  readonly rowName?: (row: Row) => string;
}

export class Table<Row> {
  readonly element: HTMLElement;
  private readonly head = h("tr");
  private readonly body = h("tbody");
  private readonly made = new Map<Row, HTMLTableRowElement>();
  private column: number | null;
  private direction: Direction;
  private keeps: (row: Row) => boolean = () => true;

  constructor(private readonly options: TableOptions<Row>) {
    this.column = options.sort?.column ?? null;
    this.direction = options.sort?.direction ?? "ascending";
    append(
      this.head,
      options.columns.map((column, index) => this.header(column, index)),
    );
    const table = h("table", {}, h("thead", {}, this.head), this.body);
    this.element = scrollBox(options.label, table);
    this.draw();
  }

  // How many rows are left.
  filter(keeps: (row: Row) => boolean): number {
    this.keeps = keeps;
    return this.draw();
  }

  private header(column: Column<Row>, index: number): HTMLElement {
    const attributes = { scope: "col", title: column.hint ?? null };
    const name = classes(column);
    if (!column.value) {
      return h("th", { class: name, attributes }, column.title);
    }
    const button = h("button", { attributes: { type: "button" } }, column.title);
    button.addEventListener("click", () => this.sort(index));
    return h("th", { class: name, attributes }, button);
  }

  // Numbers are first wanted from the largest, names from A.
  private sort(index: number): void {
    const first = this.options.columns[index]?.isNumber ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    this.direction = this.column === index && this.direction === first ? second : first;
    this.column = index;
    this.draw();
  }

  private draw(): number {
    this.mark();
    const rows = this.sorted().filter(this.keeps);
    this.body.replaceChildren(...rows.map((row) => this.row(row)));
    return rows.length;
  }

  private mark(): void {
    [...this.head.children].forEach((header, index) => {
      if (index === this.column) {
        header.setAttribute("aria-sort", this.direction);
      } else {
        header.removeAttribute("aria-sort");
      }
    });
  }

  private sorted(): readonly Row[] {
    const value = this.options.columns[this.column ?? -1]?.value;
    return value ? ordered(this.options.rows, value, this.direction) : this.options.rows;
  }

  private row(row: Row): HTMLTableRowElement {
    const known = this.made.get(row);
    if (known) {
      return known;
    }
    const element = h("tr", this.options.rowName?.(row) ?? "");
    append(
      element,
      this.options.columns.map((column, index) =>
        index === 0
          ? h("th", { class: classes(column), attributes: { scope: "row" } }, column.cell(row))
          : h("td", classes(column), column.cell(row)),
      ),
    );
    this.made.set(row, element);
    return element;
  }
}

function classes<Row>(column: Column<Row>): string {
  const names = [column.isNumber ? "numeric" : "", column.isWide ? "wide" : "", column.name ?? ""];
  return names.filter(Boolean).join(" ");
}
