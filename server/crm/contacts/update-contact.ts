// Changes a contact's name, email or time zone, never the phone, by which leads find their contact.
import Type, { type Static } from "typebox";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { isTimeZone } from "../../lib/parse-time.ts";
import { closed, nullable } from "../../lib/schemas.ts";
import type { ContactResponse } from "./contact-schema.ts";
import { findContact } from "./find-contact.ts";

export const ContactPatch = closed(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    email: Type.Optional(nullable(Type.String({ format: "email", maxLength: 254 }))),
    timeZone: Type.Optional(
      nullable(
        Type.String({
          maxLength: 64,
          description: "IANA name, such as America/Los_Angeles; null: unknown",
        }),
      ),
    ),
  },
  { title: "ContactPatch", minProperties: 1, examples: [{ name: "Ada King" }] },
);
export type ContactPatch = Static<typeof ContactPatch>;

/**
 * Returns the changed contact. Throws validation-failed on a time zone that does not exist, not-found if the contact
 * does not exist in this workspace.
 */
export async function updateContact(
  tx: Tx,
  actor: Actor,
  place: { workspace_id: number; contact_id: number },
  patch: ContactPatch,
  now: Date,
): Promise<ContactResponse> {
  if (typeof patch.timeZone === "string" && !isTimeZone(patch.timeZone))
    throw invalidField("timeZone", "must be an IANA time zone such as Asia/Kolkata, or null");
  const { numUpdatedRows } = await tx
    .updateTable("contacts")
    .set({
      ...(patch.name === undefined ? {} : { name: patch.name }),
      ...(patch.email === undefined ? {} : { email: patch.email }),
      ...(patch.timeZone === undefined ? {} : { time_zone: patch.timeZone }),
      updated_at: now,
    })
    .where("account_id", "=", actor.account_id)
    .where("workspace_id", "=", place.workspace_id)
    .where("id", "=", place.contact_id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: "contact.updated",
    subject_id: place.contact_id,
    detail: { fields: Object.keys(patch) },
  });
  return findContact(tx, actor.account_id, place.workspace_id, place.contact_id);
}
