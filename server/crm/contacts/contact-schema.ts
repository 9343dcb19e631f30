// The contact in API responses: the person behind one phone number of a workspace.
import { sql } from "kysely";
import Type, { type Static } from "typebox";
import { id, nullable, timestamp } from "../../lib/schemas.ts";

export const ContactResponse = Type.Object(
  {
    id: id("Contact id"),
    workspaceId: id("Workspace the contact belongs to"),
    name: Type.String(),
    phone: Type.String({ description: "Exactly 10 digits; unique in the workspace" }),
    email: nullable(Type.String()),
    timeZone: nullable(
      Type.String({
        description:
          "IANA name: where the person is. Calls keep to the calling hours there instead of those of the phone's prefix; null: unknown",
      }),
    ),
    createdAt: timestamp("UTC"),
    updatedAt: timestamp("UTC"),
    bsuids: Type.Array(Type.String(), {
      description:
        "The WhatsApp user IDs that belong to the phone, as far as messages have reported them",
    }),
  },
  { title: "Contact" },
);
export type ContactResponse = Static<typeof ContactResponse>;

/** The columns that a contact's response needs. */
export const contactColumns = (accountId: number) =>
  [
    "id",
    "workspace_id",
    "name",
    "phone",
    "email",
    "time_zone",
    "created_at",
    "updated_at",
    sql<string[]>`array(
    select b.bsuid from person_bsuids b
    where b.account_id = ${accountId} and b.phone_key = phone_key(ltrim(contacts.phone_e164, '+'))
    order by b.bsuid)`.as("bsuids"),
  ] as const;

export function contactResponseOf(row: {
  id: number;
  workspace_id: number;
  name: string;
  phone: string;
  email: string | null;
  time_zone: string | null;
  created_at: Date;
  updated_at: Date;
  bsuids: string[];
}): ContactResponse {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    phone: row.phone,
    email: row.email,
    timeZone: row.time_zone,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    bsuids: row.bsuids,
  };
}
