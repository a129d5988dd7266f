// The document that the page carries.
import { Ref } from "./ref";

export function embedded(): Ref {
  const element = document.getElementById("document");
  return new Ref(JSON.parse(element?.textContent ?? "null"));
}
