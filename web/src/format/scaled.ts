// Numbers at the precision that people compare by: about three digits that matter.

export function digits(value: number): string {
  const size = Math.abs(value);
  if (value === 0) {
    return "0";
  }
  if (size >= 99.95) {
    return grouped(value);
  }
  if (size >= 9.995) {
    return value.toFixed(1);
  }
  return size >= 0.01 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

// Whole, thousands apart.
export function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export interface Scale {
  readonly factor: number;
  readonly unit: string;
}

// The largest unit of which there is at least one; scales from the largest to the smallest.
export function scaled(value: number, scales: readonly Scale[]): string {
  const size = Math.abs(value);
  const last = scales[scales.length - 1] as Scale;
  const scale = value === 0 ? last : (scales.find((each) => size >= 0.9995 * each.factor) ?? last);
  return `${digits(value / scale.factor)} ${scale.unit}`;
}
