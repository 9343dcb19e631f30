// Erasures in API requests and responses.
import Type, { type Static } from "typebox";
import { closed, id, nullable, timestamp } from "../lib/schemas.ts";

export const NewErasure = closed(
  {
    phone_number: Type.String({
      maxLength: 250,
      description:
        "Ten digits of the account's country, or + and the country code; or the WhatsApp user ID (BSUID) of a person whose number is unknown",
    }),
  },
  {
    title: "NewErasure",
    description: "The person whose data to erase",
    examples: [{ phone_number: "+919876543210" }],
  },
);
export type NewErasure = Static<typeof NewErasure>;

/** The kinds of records that an erasure counts. */
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

/** What an erasure may wait for. */
export const wait_reasons = ["message", "call", "recording"] as const;
export type WaitReason = (typeof wait_reasons)[number];

const counted: Readonly<Record<ErasedKind, string>> = {
  leads: "Deleted, with their timelines",
  contacts: "Deleted",
  import_rows: "Rows of uploads, emptied",
  group_members: "Removed from groups",
  recipients: "Recipients of chat and voice campaigns, emptied; pending ones are not contacted",
  replies: "Emptied",
  calls: "Emptied",
  recordings: "Recordings and voice messages, deleted from their nodes",
  events: "Emptied",
};

export const ErasureResponse = Type.Object(
  {
    id: id("Erasure id"),
    phone_number: Type.String({ description: "Masked except for the last two digits" }),
    state: Type.Enum(["pending", "done"], { type: "string" }),
    waiting_for: nullable(
      Type.Enum(wait_reasons, {
        type: "string",
        description:
          "What the erasure waits for: a message whose outcome is unknown, a live call, or a recording whose node does not respond; null if it waits for nothing",
      }),
    ),
    counts: Type.Object(
      Object.fromEntries(
        erased_kinds.map((kind) => [kind, Type.Integer({ description: counted[kind] })]),
      ) as Record<ErasedKind, ReturnType<typeof Type.Integer>>,
      { title: "ErasureCounts", description: "What has been erased so far" },
    ),
    requested_by: nullable(id("User id")),
    requested_at: timestamp("UTC"),
    finished_at: nullable(timestamp("UTC")),
  },
  { title: "Erasure" },
);
export type ErasureResponse = Static<typeof ErasureResponse>;
