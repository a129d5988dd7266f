// How large a made run is, and how its things are called.

export interface Shape {
  readonly seed: number;
  readonly nodes: readonly string[];
  readonly seconds: number;
  readonly stepMs: number;
  readonly bins: number;
  readonly flows: number;
  readonly bars: number; // a bar may stand for several steps
  readonly text: (plain: string) => string; // what becomes of each text
}

const plain = (text: string) => text;

export const small: Shape = {
  seed: 7,
  nodes: ["left", "right"],
  seconds: 19.3,
  stepMs: 281,
  bins: 240,
  flows: 6,
  bars: 66,
  text: plain,
};

export const hour: Shape = {
  seed: 11,
  nodes: ["n1", "n2", "n3", "n4"],
  seconds: 3600,
  stepMs: 240,
  bins: 500,
  flows: 64,
  bars: 1500,
  text: plain,
};

const insults = [
  "</script><script>globalThis.broken=1</script>",
  '<img src=x onerror="globalThis.broken=2">',
  "\"'><svg onload=globalThis.broken=3>",
  "line\nbreak\ttab \u0000\u0001\u001b[31m \u2028\u2029 \u200f <!--",
  "javascript:globalThis.broken=4",
  "__proto__",
  "{{constructor.constructor('globalThis.broken=5')()}}",
];

let turn = 0;
export const hostile: Shape = {
  ...small,
  text: (text) => `${insults[turn++ % insults.length]} ${text} ${"W".repeat(60)}`,
};
