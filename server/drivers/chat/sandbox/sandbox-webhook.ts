// The sandbox's webhooks: events of the driver interface, with times as text. They are stored like a provider's and
// validated when they are read.
import { isBsuid } from "../../../lib/bsuid.ts";
import type { SimulatedReply, WebhookEvent, WebhookEventBatch } from "../driver.ts";

type StatusEvent = Extract<WebhookEvent, { kind: "status" }>;
type ReplyEvent = Extract<WebhookEvent, { kind: "reply" }>;
type Written<T extends { at: Date }> = Omit<T, "at"> & { readonly at: string };
export type SandboxEvent = Written<StatusEvent> | Written<ReplyEvent>;

/** The body of a webhook, which survives JSON unchanged. */
export type SandboxWebhook = {
  readonly object: "trunkline_sandbox";
  readonly phone_number_id: string;
  readonly business_account_id: string;
  readonly reports: readonly SandboxEvent[];
};

type Subject = {
  readonly provider_message_id: string;
  readonly message_id: string;
  readonly to: string;
};

export function statusEvent(
  { provider_message_id, message_id }: Subject,
  status: StatusEvent["status"],
  at: Date,
  code: number | null,
): SandboxEvent {
  return { kind: "status", provider_message_id, message_id, status, at: at.toISOString(), code };
}

/** Builds the customer's reply `text` to the message. */
export function replyEvent(
  { provider_message_id, to }: Subject,
  text: string,
  at: Date,
): SandboxEvent {
  const person = isBsuid(to) ? { from: null, bsuid: to } : { from: to, bsuid: null };
  return simulatedReply(
    { ...person, answers: provider_message_id, text, payload: null, at },
    `${provider_message_id}-reply`,
  );
}

/** Builds a customer's answer to a message. */
export function simulatedReply({ at, ...reply }: SimulatedReply, id: string): SandboxEvent {
  const type = reply.payload === null ? "text" : "button";
  return {
    kind: "reply",
    ...reply,
    provider_message_id: id,
    at: at.toISOString(),
    type,
    content: null,
  };
}

/** Reads a stored, parsed body; omits content that is not the sandbox's. */
export function readWebhook(body: unknown): readonly WebhookEventBatch[] {
  const webhook = record(body);
  if (webhook?.["object"] !== "trunkline_sandbox" || !Array.isArray(webhook["reports"])) return [];
  const { phone_number_id, business_account_id } = webhook;
  if (typeof phone_number_id !== "string" || typeof business_account_id !== "string") return [];
  const events = webhook["reports"].flatMap((event) => readEvent(record(event)) ?? []);
  return events.length === 0 ? [] : [{ phone_number_id, business_account_id, events }];
}

function readEvent(event: Readonly<Record<string, unknown>> | null): WebhookEvent | null {
  const at = new Date(typeof event?.["at"] === "string" ? event["at"] : Number.NaN);
  const provider_message_id = event?.["provider_message_id"];
  if (event === null || typeof provider_message_id !== "string") return null;
  if (Number.isNaN(at.getTime())) return null;
  const { kind, text, type, answers, message_id, code } = event;
  if (kind === "reply") {
    // Bodies of earlier versions have no `bsuid`.
    const { from = null, bsuid = null } = event as { from?: unknown; bsuid?: unknown };
    if (!isText(from) || !isText(bsuid) || (from ?? bsuid) === null) return null;
    if (typeof text !== "string" || typeof answers !== "string") return null;
    if (type !== "text" && type !== "button") return null;
    const payload = typeof event["payload"] === "string" ? event["payload"] : null;
    const content = { payload, content: null, answers };
    return { kind, provider_message_id, from, bsuid, at, type, text, ...content };
  }
  const status = (["sent", "delivered", "read", "failed"] as const).find(
    (known) => known === event["status"],
  );
  if (kind !== "status" || status === undefined || typeof message_id !== "string") return null;
  const known_code = typeof code === "number" ? code : null;
  return { kind, provider_message_id, message_id, status, at, code: known_code };
}

function isText(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
}
