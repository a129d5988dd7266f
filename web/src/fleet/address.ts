// Where on the page one is, as the address says behind "#": "subject?subject=gpu3&metric=rtt_ms".

export type PlaceName = "hosts" | "subject" | "runs" | "live";

export interface Where {
  readonly place: PlaceName;
  readonly subject: string;
  readonly metric: string;
}

const names: readonly string[] = ["hosts", "subject", "runs", "live"];

// Null: a part of the page, not another one.
export function parse(hash: string): Where | null {
  const [place = "", rest = ""] = hash.replace(/^#/, "").split("?", 2);
  if (!names.includes(place || "hosts")) {
    return null;
  }
  const given = new URLSearchParams(rest);
  return {
    place: (place || "hosts") as PlaceName,
    subject: given.get("subject") ?? "",
    metric: given.get("metric") ?? "",
  };
}

export function toSubject(subject: string, metric = ""): string {
  const given = new URLSearchParams({ subject, ...(metric ? { metric } : {}) });
  return `#subject?${given}`;
}

export const toReport = (run: string): string => `/report?${new URLSearchParams({ run })}`;
