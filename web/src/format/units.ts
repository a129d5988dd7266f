// How a value of the document reads, by its unit. The only module that turns numbers into text that
// stands on the page, so a test can say what each element must show.
import { digits, grouped, scaled, type Scale } from "./scaled";

const bits: Scale[] = [
  { factor: 1e6, unit: "Tb/s" },
  { factor: 1e3, unit: "Gb/s" },
  { factor: 1, unit: "Mb/s" },
  { factor: 1e-3, unit: "kb/s" },
  { factor: 1e-6, unit: "b/s" },
];
const bytes: Scale[] = [
  { factor: 1e15, unit: "PB" },
  { factor: 1e12, unit: "TB" },
  { factor: 1e9, unit: "GB" },
  { factor: 1e6, unit: "MB" },
  { factor: 1e3, unit: "kB" },
  { factor: 1, unit: "B" },
];
const milliseconds: Scale[] = [
  { factor: 1e3, unit: "s" },
  { factor: 1, unit: "ms" },
  { factor: 1e-3, unit: "µs" },
  { factor: 1e-6, unit: "ns" },
];

function duration(seconds: number): string {
  if (Math.abs(seconds) < 99.95) {
    return scaled(seconds * 1e3, milliseconds);
  }
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

const zero = (unit: string) => (value: number, text: (value: number) => string) =>
  value === 0 ? `0 ${unit}` : text(value);

// No finer than it can be known.
const percent = (value: number): string =>
  `${Math.abs(value) >= 9.95 ? value.toFixed(0) : Number(value.toPrecision(2))} %`;

const formats: Record<string, (value: number) => string> = {
  mbps: (value) => zero("Mb/s")(value, (some) => scaled(some, bits)),
  bytes: (value) => scaled(value, bytes),
  ms: (value) => zero("ms")(value, (some) => scaled(some, milliseconds)),
  us: (value) => zero("µs")(value, (some) => scaled(some / 1e3, milliseconds)),
  // Of a step: all in one unit, so that they can be compared and summed by eye.
  step_ms: (value) => `${digits(value)} ms`,
  s: duration,
  percent,
  share: (value) => percent(value * 100),
  count: (value) => (Number.isInteger(value) ? grouped(value) : digits(value)),
  packets: (value) => grouped(value),
  per_s: (value) => `${digits(value)} /s`,
  factor: (value) => value.toFixed(2),
  change: (value) => `${value > 0 ? "+" : ""}${value.toFixed(1)} %`,
  MHz: (value) => `${grouped(Math.round(value))} MHz`,
  gts: (value) => `${Number(value.toFixed(2))} GT/s`,
  lanes: (value) => `x${value}`,
  plain: (value) => String(value),
};

// What a record calls its units, where that is not the name here.
const aliases: Record<string, string> = {
  "Mb/s": "mbps",
  "%": "percent",
  "": "count",
  B: "bytes",
  "ms a step": "step_ms",
};

export const unknown = "not measured";
export const dash = "–";

export function format(value: number, unit: string): string {
  const known = formats[unit] ?? formats[aliases[unit] ?? ""];
  const text = known ? known(value) : `${digits(value)} ${unit}`;
  return unit === "ms a step" ? `${text} a step` : text;
}

// Beside an axis: the same, as short as can be.
export function tick(value: number, unit: string): string {
  return format(value, unit)
    .replace(/(\.\d*?)0+(?=\s|$)/, "$1")
    .replace(/\.(?=\s|$)/, "");
}

// The exact value, for who looks closer.
export function exact(value: number, unit: string): string {
  const name =
    unit === "share" || unit === "plain" || unit === "lanes" ? "" : unit.replace("_", " ");
  return `${value} ${name}`.trim();
}
