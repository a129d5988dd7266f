// How the bars of one series look: colour and pattern, told apart without the colour.
import type { Account, Pattern } from "../accounting/accounts";

const looks: readonly (readonly [string, Pattern])[] = [
  ["#0072b2", "plain"],
  ["#e69f00", "rising"],
  ["#009e73", "level"],
  ["#cc79a7", "cross"],
  ["#56b4e9", "falling"],
  ["#d55e00", "dots"],
];

export function lookOf(series: number, name: string): Account {
  const [colour, pattern] = looks[series % looks.length] ?? ["#0072b2", "plain"];
  return { id: `series ${series}`, name, meaning: "", colour, pattern };
}
