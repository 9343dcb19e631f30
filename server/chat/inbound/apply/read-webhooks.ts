// Reads the events of stored webhooks, as text that PostgreSQL can store.
import { webhookReaderOf, type WebhookEvent } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { StoredWebhooks } from "./inbox.ts";

/** A provider's IDs are below 100 characters, its texts below 5,000. */
const id_characters_max = 255;
const text_characters_max = 10_000;
const content_characters_max = 100_000;

/** A webhook event; events about a business account also carry its ID. */
export type StorableEvent =
  | Exclude<WebhookEvent, { kind: "account" | "template" | "number" }>
  | (Extract<WebhookEvent, { kind: "account" | "template" | "number" }> & {
      readonly business_account_id: string | null;
    });

/** Returns all events of each webhook of a row. Throws when the driver is not configured here. */
export function readWebhooks(app: App, { driver, body }: StoredWebhooks): StorableEvent[][] {
  const reader = webhookReaderOf(app.chatDrivers, driver);
  if (!reader) throw new Error(`${driver} is not configured in this process`);
  return body.map((webhook) =>
    reader
      .readWebhook(webhook)
      .flatMap(({ events, business_account_id }) =>
        events.map((event) => storable(event, business_account_id)),
      ),
  );
}

function storable(event: WebhookEvent, business_account_id: string | null): StorableEvent {
  switch (event.kind) {
    case "status":
      return { ...event, provider_message_id: idOf(event.provider_message_id) };
    case "reply":
      return {
        ...event,
        provider_message_id: idOf(event.provider_message_id),
        answers: event.answers === null ? null : idOf(event.answers),
        type: idOf(event.type),
        text: event.text === null ? null : textOf(event.text),
        payload: event.payload === null ? null : textOf(event.payload),
        content: contentOf(event.content),
      };
    case "account":
      return { ...event, event: textOf(event.event), business_account_id };
    case "template":
    case "number":
      return { ...event, business_account_id };
    case "preference":
    case "link":
    case "moved":
    case "unread":
      return event;
  }
}

/** Returns a reply's content with storable texts; null if it is larger than any that providers send. */
function contentOf(content: unknown): unknown {
  const text = JSON.stringify(content ?? null);
  if (text.length > content_characters_max) return null;
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === "string" ? textOf(value) : value,
  );
}

const idOf = (text: string) => storableText(text, id_characters_max);
const textOf = (text: string) => storableText(text, text_characters_max);

/** Removes NUL and lone surrogates, which PostgreSQL cannot store as text. */
function storableText(text: string, characters_max: number): string {
  return text.replaceAll("\0", "").slice(0, characters_max).toWellFormed();
}
