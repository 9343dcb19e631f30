// A webhook cut into what is about one number, or about one business account.
import type { ChatDriver, ReportBatch } from "../../../drivers/chat/driver.ts";

/** A change as it came, with what it is sorted by. */
export type WebhookPiece = {
  readonly kind: "phone_number" | "business_account";
  /** The number's or the business account's id with the provider. */
  readonly provider_id: string;
  /** JSON text that the driver's readWebhook reads. */
  readonly body: string;
  /** Holds more than statuses: an opt-out must not wait behind a million of them. */
  readonly urgent: boolean;
};

/**
 * The pieces of a body, and how many changes in it have no known form. A body without `entry`
 * is one piece; what is no JSON has none.
 */
export function splitWebhook(
  driver: ChatDriver,
  body: string,
): { readonly pieces: readonly WebhookPiece[]; readonly ignored: number } {
  const parsed = parse(body);
  const changes = changesOf(parsed);
  const pieces: WebhookPiece[] = [];
  for (const change of changes) {
    // Nearly every webhook is one change, which is kept as the very text that came.
    const text = changes.length === 1 ? body : JSON.stringify(change);
    const piece = sort(driver, change, text);
    if (piece) pieces.push(piece);
  }
  return { pieces, ignored: Math.max(changes.length, 1) - pieces.length };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The body once per change of each entry. */
function changesOf(parsed: unknown): readonly unknown[] {
  if (typeof parsed !== "object" || parsed === null) return [];
  const { entry } = parsed as { entry?: unknown };
  if (!Array.isArray(entry)) return [parsed];
  return entry.flatMap((one: unknown) => {
    const { id, changes } = (one ?? {}) as { id?: unknown; changes?: unknown };
    return Array.isArray(changes)
      ? changes.map((change: unknown) => ({ entry: [{ id, changes: [change] }] }))
      : [];
  });
}

function sort(driver: ChatDriver, change: unknown, body: string): WebhookPiece | null {
  const batches = driver.readWebhook(change);
  const [first] = batches;
  const provider_id = first ? subjectOf(first) : null;
  // A change is about one number or account; what is about several would be another's news to each.
  if (!first || provider_id === null || batches.some((batch) => subjectOf(batch) !== provider_id))
    return null;
  return {
    kind: first.phone_number_id === null ? "business_account" : "phone_number",
    provider_id,
    body,
    urgent: batches.some(({ reports }) => reports.some(({ kind }) => kind !== "status")),
  };
}

function subjectOf({ phone_number_id, business_account_id }: ReportBatch): string | null {
  return phone_number_id ?? business_account_id;
}
