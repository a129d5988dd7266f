// Short texts of this page. Pure.
import { digits } from "../format/scaled";

// "−36 %", "+120 %"
export function percentText(percent: number): string {
  const size = Math.abs(percent);
  return `${percent < 0 ? "−" : "+"}${size >= 9.95 ? size.toFixed(0) : digits(size)} %`;
}

// "1.7× the others"
export const timesText = (times: number): string => `${digits(times)}× the others`;

// "05-03 14:10" of this year, else "2025-05-03"; what is no date stays as it is.
export function shortDate(text: string, now: Date): string {
  const found = /^(\d{4})-(\d\d-\d\d)T(\d\d:\d\d)/.exec(text);
  if (!found) {
    return text;
  }
  return found[1] === String(now.getUTCFullYear())
    ? `${found[2]} ${found[3]}`
    : `${found[1]}-${found[2]}`;
}

// Seconds since 1970 as "2026-05-03 14:10", UTC.
export function minute(seconds: number): string {
  return new Date(seconds * 1e3).toISOString().slice(0, 16).replace("T", " ");
}

// A word as a shell takes it; null where a terminal would do something with it.
export function shellWord(text: string): string | null {
  if (/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(text) || text === "") {
    return null;
  }
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-")
    ? text
    : `${text.startsWith("-") ? "./" : ""}'${text.replaceAll("'", "'\\''")}'`;
}

export function compareCommand(before: string | null, after: string | null): string | null {
  const [one, other] = [shellWord(before ?? ""), shellWord(after ?? "")];
  return one === null || other === null || one === other ? null : `chokepoint compare ${one} ${other}`;
}
