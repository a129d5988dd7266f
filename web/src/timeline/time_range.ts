// Which part of the run is in view: one for all charts, so that they move together. Pure but for
// telling its listeners.

export interface Span {
  readonly from: number;
  readonly to: number;
}

const least = 0.0005; // seconds; nothing was measured more finely

export class TimeRange {
  private span: Span;
  private readonly listeners = new Set<(span: Span) => void>();

  constructor(readonly all: Span) {
    this.span = all;
  }

  get view(): Span {
    return this.span;
  }

  get isAll(): boolean {
    return this.span.from === this.all.from && this.span.to === this.all.to;
  }

  follow(listener: (span: Span) => void): void {
    this.listeners.add(listener);
  }

  show(from: number, to: number): void {
    const isMore = to - from >= this.all.to - this.all.from;
    this.span = isMore ? this.all : this.within(from, to);
    [...this.listeners].forEach((listener) => listener(this.span));
  }

  leave(listener: (span: Span) => void): void {
    this.listeners.delete(listener);
  }

  showAll(): void {
    this.show(this.all.from, this.all.to);
  }

  // A factor below 1 comes closer; `around` keeps its place.
  zoom(factor: number, around = (this.span.from + this.span.to) / 2): void {
    const { from, to } = this.span;
    this.show(around - (around - from) * factor, around + (to - around) * factor);
  }

  // By parts of what is in view.
  move(parts: number): void {
    const by = (this.span.to - this.span.from) * parts;
    this.show(this.span.from + by, this.span.to + by);
  }

  private within(from: number, to: number): Span {
    const width = Math.max(to - from, least);
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - width / 2, this.all.from), this.all.to - width);
    return { from: start, to: start + width };
  }
}
