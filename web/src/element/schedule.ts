// What is seen first is drawn first: the rest follows in pieces between which the browser paints.

export type Task = () => void;

const soon = (task: Task): void => {
  if ("requestIdleCallback" in window) {
    requestIdleCallback(task, { timeout: 200 });
  } else {
    setTimeout(task, 0);
  }
};

export function inTurn(tasks: readonly Task[], then: Task): void {
  const [first, ...rest] = tasks;
  if (!first) {
    then();
    return;
  }
  soon(() => {
    first();
    inTurn(rest, then);
  });
}

const waiting = new Map<Element, Task>();
let observer: IntersectionObserver | null = null;

function arrived(entries: readonly IntersectionObserverEntry[]): void {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      run(entry.target);
    }
  }
}

function run(element: Element): void {
  const task = waiting.get(element);
  waiting.delete(element);
  observer?.unobserve(element);
  task?.();
}

// Once the element comes near the window.
export function whenNear(element: Element, task: Task): void {
  observer ??= new IntersectionObserver(arrived, { rootMargin: "400px 0px" });
  waiting.set(element, task);
  observer.observe(element);
}

// A printer sees all of it.
export function allNow(): void {
  for (const element of [...waiting.keys()]) {
    run(element);
  }
}
