// Which nodes and flows the timeline shows. Whoever draws follows it.

export class Selection {
  private readonly listeners: (() => void)[] = [];
  private readonly hidden = new Set<string>();
  private chosen: Set<number>;

  constructor(
    readonly nodes: readonly string[],
    private readonly drawable: ReadonlySet<number>,
    flows: readonly number[],
  ) {
    this.chosen = new Set(flows);
  }

  get flows(): number[] {
    return [...this.chosen].sort((left, right) => left - right);
  }

  hasNode(node: string): boolean {
    return !this.hidden.has(node);
  }

  hasFlow(flow: number): boolean {
    return this.chosen.has(flow);
  }

  // Only some of many flows have curves.
  canHave(flow: number): boolean {
    return this.drawable.has(flow);
  }

  setNode(node: string, isShown: boolean): void {
    if (isShown) {
      this.hidden.delete(node);
    } else {
      this.hidden.add(node);
    }
    this.tell();
  }

  setFlow(flow: number, isShown: boolean): void {
    if (isShown) {
      this.chosen.add(flow);
    } else {
      this.chosen.delete(flow);
    }
    this.tell();
  }

  setFlows(flows: readonly number[]): void {
    this.chosen = new Set(flows);
    this.tell();
  }

  follow(listener: () => void): void {
    this.listeners.push(listener);
  }

  private tell(): void {
    this.listeners.forEach((listener) => listener());
  }
}
