// Reads the JSON body of a campaign. Runs in the server's thread for small bodies, and in one of its
// own for large ones.
import { createHash } from "node:crypto";
import { canonicalJson } from "../../../lib/canonical-json.ts";
import { parseListBody, place_of_list } from "../../../lib/json-list-body.ts";
import { openContactsReader, type ContactsOptions, type ContactsReading } from "./read-contacts.ts";

/** A body that was read. */
export type BodyReading = ContactsReading & {
  /** The body without its contacts, of any shape. */
  readonly head: unknown;
  /** Equal for bodies that are equal as parsed values, and only for those. */
  readonly sha256: Uint8Array;
};

/**
 * Reads a body. Of several lists of contacts the last one counts. Throws what parseJsonBody throws;
 * what is wrong with contacts is in the reading.
 */
export function readBody(body: Buffer, options: ContactsOptions): BodyReading {
  let reader = openContactsReader(options);
  const rest = parseListBody(body, "contacts", {
    begin: () => void (reader = openContactsReader(options)),
    entry: (json, index) => reader.entry(json, index),
  });
  const { head, contacts } = takeContacts(rest);
  if (contacts !== place_of_list) reader = openContactsReader(options);
  // A list under an escaped name.
  if (Array.isArray(contacts))
    for (const [index, row] of (contacts as readonly unknown[]).entries()) reader.row(row, index);
  const { sha256, ...reading } = reader.end();
  const isList = contacts === place_of_list || Array.isArray(contacts);
  const isNone = contacts === undefined || contacts === null;
  const violations = [...reading.violations];
  if (!isList && !isNone) violations.unshift({ field: "contacts", reason: "must be an array" });
  // Not as a string: an object may have a toString of its own.
  const kind = isList ? "list" : canonicalJson(contacts ?? null);
  const whole = createHash("sha256")
    .update(canonicalJson([head, kind]))
    .update(sha256)
    .digest();
  return { ...reading, violations, head, sha256: whole };
}

function takeContacts(rest: unknown): { head: unknown; contacts: unknown } {
  if (typeof rest !== "object" || rest === null || Array.isArray(rest))
    return { head: rest, contacts: undefined };
  const { contacts, ...head } = rest as Record<string, unknown>;
  return { head, contacts };
}
