// Reads a customer's two identities: the phone number, which Meta may withhold, and the BSUID.
import { isBsuid } from "../../../lib/bsuid.ts";
import type { WebhookEvent, WebhookPerson } from "../driver.ts";
import type { JsonRecord } from "./json.ts";

/** Returns the digits of a phone number, or null. */
export function readNumber(value: unknown): string | null {
  return typeof value === "string" && /^\+?\d{5,20}$/.test(value) ? value.replace("+", "") : null;
}

/** Returns a BSUID, or null. */
export function readBsuid(value: unknown): string | null {
  return typeof value === "string" && isBsuid(value) ? value : null;
}

/** Returns the link of a phone and a BSUID, if both are there. */
export function linkOf(number: unknown, user_id: unknown): readonly WebhookEvent[] {
  const [phone, bsuid] = [readNumber(number), readBsuid(user_id)];
  return phone === null || bsuid === null ? [] : [{ kind: "link", phone, bsuid }];
}

/** Returns the sender of a message; null if it has no identity. */
export type SenderReader = (message: JsonRecord) => WebhookPerson | null;

/** Returns a function that reads senders, completed from the webhook's contacts. */
export function openSenderReader(contacts: readonly JsonRecord[]): SenderReader {
  // A webhook may have 100,000 messages and as many contacts.
  const byIdentity = new Map<string, JsonRecord>();
  for (const contact of contacts) {
    const { wa_id, user_id, parent_user_id } = contact;
    for (const identity of [readNumber(wa_id), readBsuid(user_id), readBsuid(parent_user_id)])
      if (identity !== null && !byIdentity.has(identity)) byIdentity.set(identity, contact);
  }
  const only_contact = contacts.length === 1 ? contacts[0] : undefined;
  return (message) => {
    const from = readNumber(message["from"]);
    const bsuid =
      readBsuid(message["from_user_id"]) ??
      readBsuid(message["from_parent_user_id"]) ??
      readBsuid(message["from"]);
    const identity = from ?? bsuid;
    const contact = identity === null ? only_contact : byIdentity.get(identity);
    const person = {
      from: from ?? readNumber(contact?.["wa_id"]),
      bsuid: bsuid ?? readBsuid(contact?.["user_id"]),
    };
    return (person.from ?? person.bsuid) === null ? null : person;
  };
}

/** Parses the seconds, or milliseconds, since 1970, as text or number. */
export function readTime(value: unknown): Date | null {
  const number = typeof value === "string" && /^\d{1,13}$/.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(number)) return null;
  const seconds = number as number;
  // As seconds, it would be after the year 5000.
  const time = new Date(seconds > 100_000_000_000 ? seconds : seconds * 1_000);
  return Number.isNaN(time.getTime()) ? null : time;
}
