// Lines of a chart are told apart by colour and by dashes: what runs below another line shows through
// its gaps, and nobody needs the colours.
import type { Track } from "./panels";

const dashes: (number[] | undefined)[] = [undefined, [7, 4], [2, 3], [11, 3, 2, 3], [4, 2]];

export interface Look {
  readonly colour: string; // name of a CSS variable
  readonly dash: number[] | undefined;
}

// What belongs together has one colour: a node's lines, or both ways of a flow.
const familyOf = (track: Track): string =>
  track.flow === null ? track.node : `flow ${track.flow}`;

export function looksOf(tracks: readonly Track[], families: readonly string[]): Look[] {
  return tracks.map((track, index) => {
    const place = Math.max(families.indexOf(familyOf(track)), 0);
    return { colour: `--line-${(place % 8) + 1}`, dash: dashes[index % dashes.length] };
  });
}

export const familiesOf = (
  nodes: readonly string[],
  flows: readonly number[],
  isOfFlows: boolean,
): string[] => (isOfFlows ? flows.map((flow) => `flow ${flow}`) : [...nodes]);
