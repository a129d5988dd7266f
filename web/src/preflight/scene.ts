// What all sections of a preflight's page look at together.
import type { Preflight } from "../document/documents";
import type { Ref } from "../document/ref";
import { heldBy, type Held } from "./held";
import { Mesh } from "./model";
import { Picks } from "./picks";

export interface Scene {
  readonly document: Ref<Preflight>;
  readonly mesh: Mesh;
  readonly findings: readonly Ref[]; // what passed is none
  readonly held: readonly Held[];
  readonly picks: Picks;
}

export function sceneOf(document: Ref<Preflight>): Scene {
  const mesh = new Mesh(document);
  const findings = document.at("checks").items.filter((each) => each.at("status").text !== "PASS");
  return {
    document,
    mesh,
    findings,
    held: findings.map((finding) => heldBy(mesh, finding)),
    picks: new Picks(),
  };
}
