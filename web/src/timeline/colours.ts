// Lines of a chart are told apart by colour and, within a node, by dashes. Those drawn later are
// thinner, so that a line that runs where another does hides nothing.
import type { Track } from "./panels";

const dashes: (number[] | undefined)[] = [undefined, [6, 3], [2, 3], [8, 3, 2, 3], [1, 2]];

export interface Look {
  readonly colour: string; // name of a CSS variable
  readonly dash: number[] | undefined;
  readonly width: number;
}

const widthOf = (nth: number, of: number): number =>
  of > 4 ? 1.4 : 1.2 + (of - 1 - nth);

// What belongs together has one colour: a node's lines, or both ways of a flow.
const familyOf = (track: Track): string =>
  track.flow === null ? track.node : `flow ${track.flow}`;

export function looksOf(tracks: readonly Track[], families: readonly string[]): Look[] {
  const before = new Map<string, number>();
  return tracks.map((track, index) => {
    const family = familyOf(track);
    const place = Math.max(families.indexOf(family), 0);
    const nth = before.get(family) ?? 0;
    before.set(family, nth + 1);
    return {
      colour: `--line-${(place % 8) + 1}`,
      dash: dashes[nth % dashes.length],
      width: widthOf(index, tracks.length),
    };
  });
}

export const familiesOf = (
  nodes: readonly string[],
  flows: readonly number[],
  isOfFlows: boolean,
) => (isOfFlows ? flows.map((flow) => `flow ${flow}`) : [...nodes]);
