// What a share of the possible means, in a word or two, so that no bar must be measured by eye.

const steps: readonly [number, string][] = [
  [0.97, "all that it could"],
  [0.85, "nearly all that it could"],
  [0.7, "three quarters of what it could"],
  [0.6, "two thirds of what it could"],
  [0.45, "half of what it could"],
  [0.3, "a third of what it could"],
  [0.22, "a quarter of what it could"],
  [0.11, "an eighth of what it could"],
  [0.03, "a small part of what it could"],
];

export function shareInWords(share: number): string {
  return steps.find(([least]) => share >= least)?.[1] ?? "hardly any of what it could";
}

// "a", "a and b", "a, b and c"
export function listed(names: readonly string[]): string {
  const last = names[names.length - 1] ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
