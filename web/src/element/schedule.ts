// What is seen first is drawn first: the rest follows in pieces between which the browser paints.

export type Task = () => void;

const soon = (task: Task): void => {
  if ("requestIdleCallback" in window) {
    requestIdleCallback(task, { timeout: 200 });
  } else {
    setTimeout(task, 0);
  }
};

let pending: Task[] = [];

function next(): void {
  pending.shift()?.();
  if (pending.length > 0) {
    soon(next);
  }
}

// A page has one such list.
export function inTurn(tasks: readonly Task[], then: Task): void {
  pending = [...tasks, then];
  soon(next);
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

// A printer sees all of it, also where the page is printed the moment it is opened.
export function allNow(): void {
  while (pending.length > 0) {
    pending.shift()?.();
  }
  for (const element of [...waiting.keys()]) {
    run(element);
  }
}
