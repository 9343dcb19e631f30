// Reads the JSON body of a campaign: in the main thread for small bodies, in a separate thread for
// large ones.
import { createHash } from "node:crypto";
import { canonicalJson } from "../../../lib/canonical-json.ts";
import { parseListBody, place_of_list } from "../../../lib/json-list-body.ts";
import { openContactsReader, type ContactsOptions, type ContactsReading } from "./read-contacts.ts";

/** A parsed body of a campaign. */
export type CampaignBody = ContactsReading & {
  /** The body without its contacts, of any shape. */
  readonly head: unknown;
  /**
   * The fingerprint: equal exactly for valid bodies that are equal as parsed values, and never equal for a valid
   * and an invalid body.
   */
  readonly sha256: Uint8Array;
};

/**
 * Reads a body. Of several lists of contacts the last one counts. Throws as parseJsonBody;
 * violations of the contacts are in the result.
 */
export function readBody(body: Buffer, options: ContactsOptions): CampaignBody {
  let reader = openContactsReader(options);
  const rest = parseListBody(body, "contacts", {
    begin: () => void (reader = openContactsReader(options)),
    entry: (json, index) => reader.entry(json, index),
  });
  const { head, contacts } = takeContacts(rest);
  if (contacts !== place_of_list) reader = openContactsReader(options);
  // The list's name contains an escape.
  if (Array.isArray(contacts))
    for (const [index, row] of (contacts as readonly unknown[]).entries()) reader.row(row, index);
  const { sha256, ...reading } = reader.end();
  const isList = contacts === place_of_list || Array.isArray(contacts);
  const isNone = contacts === undefined || contacts === null;
  const violations = [...reading.violations];
  if (!isList && !isNone) violations.unshift({ field: "contacts", reason: "must be an array" });
  // Not String(): an object may have its own toString.
  const kind = isList ? "list" : canonicalJson(contacts ?? null);
  const whole = createHash("sha256")
    .update(canonicalJson([head, kind]))
    .update(sha256)
    // The reader's digest does not cover invalid entries.
    .update(violations.length > 0 ? "invalid" : "")
    .digest();
  return { ...reading, violations, head, sha256: whole };
}

function takeContacts(rest: unknown): { head: unknown; contacts: unknown } {
  if (typeof rest !== "object" || rest === null || Array.isArray(rest))
    return { head: rest, contacts: undefined };
  const { contacts, ...head } = rest as Record<string, unknown>;
  return { head, contacts };
}
