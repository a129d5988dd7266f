// Documents from the server that this page comes from. No other one is ever asked.
import { Ref } from "../document/ref";

export type Found = { readonly document: Ref } | { readonly trouble: string };

export async function ask(
  name: "fleet" | "newest" | "subject" | "runs" | "live",
  given: Record<string, string> = {},
): Promise<Found> {
  const query = new URLSearchParams(given).toString();
  try {
    const response = await fetch(`/data/${name}${query ? `?${query}` : ""}`);
    return response.ok
      ? { document: new Ref(await response.json()) }
      : { trouble: (await response.text()).trim() };
  } catch {
    return { trouble: "The server does not answer. Is 'chokepoint web' still running?" };
  }
}

// What it says, without when it was asked.
export const contentOf = (document: Ref): string =>
  JSON.stringify({ ...(document.value as object), started_at: null, since: null });
