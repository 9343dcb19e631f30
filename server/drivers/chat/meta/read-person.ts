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

/** Returns the links of a phone and those of the BSUIDs that are there. */
export function linksOf(number: unknown, ...user_ids: readonly unknown[]): readonly WebhookEvent[] {
  const phone = readNumber(number);
  if (phone === null) return [];
  const bsuids = user_ids.map(readBsuid).filter((bsuid) => bsuid !== null);
  return bsuids.map((bsuid) => ({ kind: "link", phone, bsuid }));
}

/** Returns a customer's BSUIDs. The parent ID is the only one where the other is absent. */
export function readBsuids(
  user_id: unknown,
  parent_user_id: unknown,
): Pick<WebhookPerson, "bsuid" | "parent_bsuid"> {
  const [bsuid, parent_bsuid] = [readBsuid(user_id), readBsuid(parent_user_id)];
  if (bsuid === null || parent_bsuid === null) return { bsuid: bsuid ?? parent_bsuid };
  return { bsuid, parent_bsuid };
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
    const user_id = readBsuid(message["from_user_id"]) ?? readBsuid(message["from"]);
    const parent_id = readBsuid(message["from_parent_user_id"]);
    const identity = from ?? user_id ?? parent_id;
    const contact = identity === null ? only_contact : byIdentity.get(identity);
    const person = {
      from: from ?? readNumber(contact?.["wa_id"]),
      ...readBsuids(user_id ?? contact?.["user_id"], parent_id ?? contact?.["parent_user_id"]),
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
