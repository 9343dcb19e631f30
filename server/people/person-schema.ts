// People in API responses: everything the account knows under one phone number.
import Type, { type Static } from "typebox";
import { mapOf, nullable, timestamp } from "../lib/schemas.ts";

export const entry_kinds = [
  "lead",
  "message",
  "reply",
  "answer",
  "call",
  "suppression",
  "group",
] as const;
export type EntryKind = (typeof entry_kinds)[number];

/** One line of a person's history. */
export const PersonEntry = Type.Object(
  {
    at: timestamp(
      "UTC; of a message, when the provider accepted it, else when it was last dispatched, ended or created",
    ),
    kind: Type.Enum(entry_kinds, { type: "string" }),
    event: Type.String({
      description:
        "lead: as in the lead's timeline (created, updated, note, …); message: its state, as in the list of " +
        "recipients; reply: its type; answer: its delivery status (sent, delivered, read, failed), else its outcome; call: its status; suppression: suppressed or lifted; " +
        "group: joined",
    }),
    data: mapOf(Type.Unknown(), {
      description:
        "lead: lead_id, workspace_id, lead_name, user_id, and data as in the lead's timeline; message: campaign_id, " +
        "campaign_name, template_id, recipient_id, variables, error, error_code, sent_at, delivered_at, read_at; " +
        "reply: reply_id, chat_number_id, text, payload, campaign_id, opted_out; answer: reply_id, chat_number_id, " +
        "message_id, text, error, sent_by, status_at; call: call_id, campaign_id, direction, from_number, disposition, " +
        "ended_reason, talk_seconds, lead_id, remark; suppression: suppression_id, channel, scope, source, " +
        "reason, expires_at; group: group_id, group_name, name",
    }),
  },
  { title: "PersonTimelineEntry" },
);
export type PersonEntry = Static<typeof PersonEntry>;

const any_kind = `(${entry_kinds.join("|")})`;

/** A filter of a person's history. */
export const EntryKindsQuery = Type.String({
  pattern: `^${any_kind}(,${any_kind}){0,${entry_kinds.length - 1}}$`,
  description: `Only entries of these kinds: one or more of ${entry_kinds.join(", ")}, separated by commas`,
  "x-reason": `must be one or more of ${entry_kinds.join(", ")}, separated by commas`,
  examples: ["message,reply,answer,call"],
});

/** Returns the kinds of such a filter; all without one. */
export function readEntryKinds(kinds: string | undefined): ReadonlySet<EntryKind> {
  return new Set(kinds === undefined ? entry_kinds : (kinds.split(",") as EntryKind[]));
}

export const found_in = [
  "leads",
  "contacts",
  "messages",
  "replies",
  "calls",
  "suppressions",
  "groups",
] as const;
export type FoundIn = (typeof found_in)[number];

export const leads_counted_max = 100;

/** A person that a search found. */
export const PersonFound = Type.Object(
  {
    phone_number: Type.String({ description: "E.164 digits" }),
    name: nullable(
      Type.String({ description: "Of the newest lead, else of a contact, else of a group member" }),
    ),
    email: nullable(Type.String({ description: "Of the newest lead, else of a contact" })),
    leads: Type.Integer({
      maximum: leads_counted_max,
      description: `Leads with this number, counted up to ${leads_counted_max}; 0 without crm.read`,
    }),
    found_in: Type.Array(Type.Enum(found_in, { type: "string" }), {
      description:
        "Where the number occurs, of what the caller may see; messages are those that arrived, and others of the " +
        "200 newest campaigns",
    }),
  },
  { title: "Person" },
);
export type PersonFound = Static<typeof PersonFound>;
