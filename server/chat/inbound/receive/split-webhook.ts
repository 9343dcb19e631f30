// Splits a webhook into pieces that concern one number or one business account.
import type { ChatDriver, WebhookEventBatch } from "../../../drivers/chat/driver.ts";

/** One change of a webhook, with the fields that route it. */
export type WebhookPiece = {
  readonly kind: "phone_number" | "business_account";
  /** The provider's ID of the number or business account. */
  readonly provider_id: string;
  /** JSON text that the driver's readWebhook reads. */
  readonly body: string;
  /** Contains more than statuses: an opt-out must not wait behind a backlog of statuses. */
  readonly urgent: boolean;
};

/**
 * Returns the pieces of a body and the number of changes of unknown form. A body without `entry`
 * is one piece; a body that is not JSON has none.
 */
export function splitWebhook(
  driver: ChatDriver,
  body: string,
): { readonly pieces: readonly WebhookPiece[]; readonly ignored: number } {
  const parsed = parse(body);
  const changes = changesOf(parsed);
  const pieces: WebhookPiece[] = [];
  for (const change of changes) {
    // Nearly every webhook has one change; its text is kept unchanged.
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

/** Returns the body once per change of each entry. */
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
  // A change that concerns several numbers or accounts would expose one's events to another.
  if (!first || provider_id === null || batches.some((batch) => subjectOf(batch) !== provider_id))
    return null;
  return {
    kind: first.phone_number_id === null ? "business_account" : "phone_number",
    provider_id,
    body,
    urgent: batches.some(({ events }) => events.some(({ kind }) => kind !== "status")),
  };
}

function subjectOf({ phone_number_id, business_account_id }: WebhookEventBatch): string | null {
  return phone_number_id ?? business_account_id;
}
