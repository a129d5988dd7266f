// The view "preflight": a whole cluster before a job, what is wrong first.
import type { Preflight } from "../document/documents";
import type { Ref } from "../document/ref";
import { inTurn } from "../element/schedule";
import { followReading, shell } from "../element/shell";
import { findingsSection } from "./findings";
import { hostsSection } from "./hosts";
import { mapSection } from "./map";
import { masthead, remarksSection, verdictSection } from "./masthead";
import { sceneOf } from "./scene";
import { togetherSection } from "./together";

const places = [
  { id: "verdict", title: "Verdict" },
  { id: "findings", title: "What was found" },
  { id: "map", title: "Who reaches whom" },
  { id: "together", title: "All at once" },
  { id: "hosts", title: "Hosts" },
  { id: "remarks", title: "To know" },
];

export function drawPreflight(document: Ref<Preflight>, ready: () => void): void {
  const scene = sceneOf(document);
  const { main } = shell("preflight", places);
  main.append(masthead(scene), verdictSection(scene));
  const parts: (() => HTMLElement)[] = [
    () => findingsSection(scene),
    () => mapSection(scene),
    () => togetherSection(scene),
    () => hostsSection(scene),
    () => remarksSection(scene),
  ];
  inTurn(
    parts.map((part) => () => main.append(part())),
    () => {
      followReading();
      ready();
    },
  );
}
