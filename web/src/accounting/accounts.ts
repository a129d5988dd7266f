// The accounts that a step's time goes to: how they are called, what they mean, how they are drawn.
// Each has a colour that colour-blind readers can tell from its neighbours' (after Okabe and Ito) and,
// since colour alone must not matter, a pattern.

export type Pattern = "plain" | "rising" | "falling" | "dots" | "level" | "upright" | "cross";

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly meaning: string;
  readonly colour: string;
  readonly pattern: Pattern;
}

const known: readonly Account[] = [
  {
    id: "compute",
    name: "Computing",
    meaning: "ranks compute; no network could give this back",
    colour: "#8d99a8",
    pattern: "plain",
  },
  {
    id: "straggler",
    name: "Late rank",
    meaning: "one rank arrives late and the others wait for it",
    colour: "#e69f00",
    pattern: "rising",
  },
  {
    id: "link",
    name: "Link full",
    meaning: "a link or path carries all that it can",
    colour: "#d55e00",
    pattern: "plain",
  },
  {
    id: "loss",
    name: "Loss",
    meaning: "packets are lost and retransmitted, and windows shrink",
    colour: "#cc79a7",
    pattern: "cross",
  },
  {
    id: "window",
    name: "Window",
    meaning: "a window or buffer is smaller than the path can hold",
    colour: "#56b4e9",
    pattern: "falling",
  },
  {
    id: "library",
    name: "Library",
    meaning: "the library keeps less in flight than the path can hold",
    colour: "#0072b2",
    pattern: "plain",
  },
  {
    id: "receiver_host",
    name: "Receiving host",
    meaning: "the receiver cannot read data as fast as they arrive",
    colour: "#009e73",
    pattern: "level",
  },
  {
    id: "sender_host",
    name: "Sending host",
    meaning: "the sender cannot send data as fast as the path carries them",
    colour: "#009e73",
    pattern: "upright",
  },
  {
    id: "pcie",
    name: "PCIe",
    meaning: "a card's slot, or copies to and from a GPU",
    colour: "#f0e442",
    pattern: "rising",
  },
  {
    id: "latency",
    name: "Latency",
    meaning: "messages wait for the round trip",
    colour: "#56b4e9",
    pattern: "dots",
  },
  {
    id: "input",
    name: "Input",
    meaning: "ranks wait for their next batch, or for data of a file",
    colour: "#a5642b",
    pattern: "level",
  },
  {
    id: "storage",
    name: "Storage",
    meaning: "ranks wait for a write to a file system",
    colour: "#a5642b",
    pattern: "upright",
  },
  {
    id: "other",
    name: "Other",
    meaning: "time that no account explains",
    colour: "#c3c8ce",
    pattern: "dots",
  },
];

const byId = new Map(known.map((account) => [account.id, account]));

// A newer program may know more accounts than this page.
export function accountOf(id: string): Account {
  return byId.get(id) ?? { id, name: id, meaning: "", colour: "#b0a18f", pattern: "cross" };
}
