// The order of a table's rows. Pure.

export type Value = number | string | null;
export type Direction = "ascending" | "descending";

const words = new Intl.Collator("en", { numeric: true });

// What is not known comes last, whichever way round.
export function compare(left: Value, right: Value, direction: Direction): number {
  if (left === null || right === null) {
    return Number(left === null) - Number(right === null);
  }
  const order =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : words.compare(String(left), String(right));
  return direction === "ascending" ? order : -order;
}

export function ordered<Row>(
  rows: readonly Row[],
  value: (row: Row) => Value,
  direction: Direction,
): Row[] {
  return rows
    .map((row) => ({ row, value: value(row) }))
    .sort((left, right) => compare(left.value, right.value, direction))
    .map((each) => each.row);
}

// Every word somewhere in the text, whatever the case.
export function matches(text: string, filter: string): boolean {
  const searched = text.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word));
}
