// Numbers that look measured, and are the same each time.

export class Random {
  constructor(private state: number) {}

  next(): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return this.state / 2 ** 32;
  }

  around(mean: number, spread: number): number {
    const sum = this.next() + this.next() + this.next() + this.next();
    return mean + (sum - 2) * spread;
  }

  rounded(mean: number, spread: number, digits = 2): number {
    return Number(Math.max(0, this.around(mean, spread)).toFixed(digits));
  }
}
