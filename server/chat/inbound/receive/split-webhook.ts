// Splits a webhook into pieces that concern one number or one business account.
import type { ChatDriver, WebhookEventBatch } from "../../../drivers/chat/driver.ts";
import { parseJson } from "../../../lib/json-body.ts";

/** One change of a webhook, with the fields that route it. */
export type WebhookPiece = {
  readonly kind: "phone_number" | "business_account";
  /** The provider's ID of the number or business account. */
  readonly provider_id: string;
  /** JSON text that the driver's readWebhook reads. */
  readonly body: string;
  /** Contains more than statuses: an opt-out must not wait behind a backlog of statuses. */
  readonly urgent: boolean;
  /** Contains something that the driver cannot read. */
  readonly unread: boolean;
};

/** A provider's IDs and times are below 100 characters. */
const repeated_characters_max = 255;

/**
 * Returns the pieces of a body and the number of changes of unknown form. A body without `entry`
 * is one piece; a body that is not JSON has none.
 */
export function splitWebhook(
  driver: Pick<ChatDriver, "readWebhook">,
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
    return parseJson(body);
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
    const { id, time, changes } = (one ?? {}) as Record<string, unknown>;
    if (!Array.isArray(changes)) return [];
    const common = { id: shortOf(id), time: shortOf(time) };
    return changes.map((change: unknown) => ({ entry: [{ ...common, changes: [change] }] }));
  });
}

/** Returns an ID or a time, if it is short: each of thousands of changes repeats it. */
function shortOf(value: unknown): unknown {
  const is_short = typeof value === "string" && value.length <= repeated_characters_max;
  return is_short || typeof value === "number" ? value : undefined;
}

function sort(
  driver: Pick<ChatDriver, "readWebhook">,
  change: unknown,
  body: string,
): WebhookPiece | null {
  const batches = driver.readWebhook(change);
  const [first] = batches;
  const provider_id = first ? subjectOf(first) : null;
  // A change that concerns several numbers or accounts would expose one's events to another.
  if (!first || provider_id === null || batches.some((batch) => subjectOf(batch) !== provider_id))
    return null;
  const kinds = batches.flatMap(({ events }) => events.map(({ kind }) => kind));
  return {
    kind: first.phone_number_id === null ? "business_account" : "phone_number",
    provider_id,
    body,
    urgent: kinds.some((kind) => kind !== "status" && kind !== "link"),
    unread: kinds.includes("unread"),
  };
}

function subjectOf({ phone_number_id, business_account_id }: WebhookEventBatch): string | null {
  return phone_number_id ?? business_account_id;
}
