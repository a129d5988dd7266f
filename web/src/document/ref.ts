// A place in the document: what stands there, and the way to it as a JSON pointer (RFC 6901).
// Whatever is drawn from the document goes through one of these, so that each number on the page
// can name where it was taken from. Nothing here throws: what is not there reads as unknown.

export type Key = string | number;

const escaped = (key: Key): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

const step = (value: unknown, key: Key): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<Key, unknown>)[key]
    : undefined;

export class Ref {
  constructor(
    readonly value: unknown,
    readonly pointer: string = "",
  ) {}

  at(...keys: Key[]): Ref {
    let value = this.value;
    let pointer = this.pointer;
    for (const key of keys) {
      value = step(value, key);
      pointer += `/${escaped(key)}`;
    }
    return new Ref(value, pointer);
  }

  get isKnown(): boolean {
    return this.value !== null && this.value !== undefined;
  }

  get number(): number | null {
    return typeof this.value === "number" && Number.isFinite(this.value) ? this.value : null;
  }

  get text(): string | null {
    return typeof this.value === "string" && this.value !== "" ? this.value : null;
  }

  get isTrue(): boolean {
    return this.value === true;
  }

  get items(): Ref[] {
    return Array.isArray(this.value) ? this.value.map((_, index) => this.at(index)) : [];
  }

  get entries(): [string, Ref][] {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) {
      return [];
    }
    return Object.keys(this.value).map((key) => [key, this.at(key)]);
  }

  // A column: what is no number in it is null.
  get numbers(): (number | null)[] {
    return Array.isArray(this.value)
      ? this.value.map((each) => (typeof each === "number" ? each : null))
      : [];
  }

  get texts(): string[] {
    return Array.isArray(this.value) ? this.value.map((each) => String(each ?? "")) : [];
  }
}
