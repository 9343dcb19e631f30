// An erasure as it goes in and comes out of the API.
import Type, { type Static } from "typebox";
import { personPhone } from "../audience/suppressions/suppression-schema.ts";
import { closed, id, nullable, timestamp } from "../lib/schemas.ts";

export const NewErasure = closed(
  { phone_number: personPhone },
  {
    description: "Whose personal data to erase",
    examples: [{ phone_number: "+919876543210" }],
  },
);
export type NewErasure = Static<typeof NewErasure>;

/** What is counted of an erasure. */
export const erased_kinds = [
  "leads",
  "contacts",
  "import_rows",
  "group_members",
  "recipients",
  "replies",
  "calls",
  "recordings",
  "events",
] as const;
export type ErasedKind = (typeof erased_kinds)[number];

/** What an erasure may have to wait for. */
export const awaited = ["message", "call", "recording"] as const;
export type Awaited = (typeof awaited)[number];

const counted: Readonly<Record<ErasedKind, string>> = {
  leads: "Deleted, with their timelines",
  contacts: "Deleted",
  import_rows: "Of uploads: emptied",
  group_members: "Taken out of saved groups",
  recipients:
    "Of chat and voice campaigns: emptied, and not written to or called where they waited",
  replies: "Emptied",
  calls: "Emptied",
  recordings: "Of calls, and messages that were left: deleted where they were",
  events: "Of the outbox: emptied",
};

export const ErasureAnswer = Type.Object({
  id: id("Erasure id"),
  phone_number: Type.String({ description: "All but its last two digits hidden" }),
  state: Type.Enum(["pending", "done"], { type: "string" }),
  waiting_for: nullable(
    Type.Enum(awaited, {
      type: "string",
      description:
        "What keeps it pending: a message whose outcome is not known yet, a call that is under way, a recording whose node does not answer; null for nothing",
    }),
  ),
  counts: Type.Object(
    Object.fromEntries(
      erased_kinds.map((kind) => [kind, Type.Integer({ description: counted[kind] })]),
    ) as Record<ErasedKind, ReturnType<typeof Type.Integer>>,
    { description: "What has been erased so far" },
  ),
  requested_by: nullable(id("User id")),
  requested_at: timestamp("UTC"),
  finished_at: nullable(timestamp("UTC")),
});
export type ErasureAnswer = Static<typeof ErasureAnswer>;
