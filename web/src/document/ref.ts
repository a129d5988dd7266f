// A place in the document: what stands there, and the way to it as a JSON pointer (RFC 6901).
// Whatever is drawn from the document goes through one of these, so that each number on the page
// can name where it was taken from. Nothing here throws: what is not there reads as unknown.
//
// A Ref<Report> knows the names of the fields (documents.ts): a wrong one is an error when the page
// is built. A Ref by itself takes any.

export type Key = string | number;

type Anything = any;
type IsAny<T> = 0 extends 1 & T ? true : false;
type KeyOf<T> =
  IsAny<T> extends true
    ? Key
    : T extends readonly unknown[]
      ? number
      : T extends object
        ? keyof T & Key
        : never;
type At<T, K> =
  IsAny<T> extends true
    ? Anything
    : T extends readonly (infer Item)[]
      ? Item
      : T extends object
        ? K extends keyof T
          ? T[K]
          : never
        : never;

const escaped = (key: Key): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

const step = (value: unknown, key: Key): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<Key, unknown>)[key]
    : undefined;

export class Ref<T = Anything> {
  constructor(
    readonly value: unknown,
    readonly pointer: string = "",
  ) {}

  at<A extends KeyOf<T>>(a: A): Ref<At<T, A>>;
  at<A extends KeyOf<T>, B extends KeyOf<At<T, A>>>(a: A, b: B): Ref<At<At<T, A>, B>>;
  at<A extends KeyOf<T>, B extends KeyOf<At<T, A>>, C extends KeyOf<At<At<T, A>, B>>>(
    a: A,
    b: B,
    c: C,
  ): Ref<At<At<At<T, A>, B>, C>>;
  at(...keys: Key[]): Ref {
    return this.along(keys);
  }

  // Of keys that no type knows.
  along(keys: readonly Key[]): Ref {
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

  get items(): Ref<At<T, number>>[] {
    return Array.isArray(this.value) ? this.value.map((_, index) => this.along([index])) : [];
  }

  get entries(): [string, Ref<At<T, keyof NonNullable<T>>>][] {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) {
      return [];
    }
    return Object.keys(this.value).map((key) => [key, this.along([key])]);
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
