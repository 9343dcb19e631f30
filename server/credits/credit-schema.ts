// Credit as it goes in and comes out of the API and the command line.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../lib/schemas.ts";

/** Chat credit pays for messages, call credit for pulses of calls. */
export type CreditKind = "chat" | "call";
export const creditKind = Type.Unsafe<CreditKind>({
  type: "string",
  enum: ["chat", "call"],
  description: "chat pays for messages, call for pulses of calls",
});

/** Each moves credit from one book to another; migrations/0008-credits.sql says from where to where. */
export type CreditTransferType = "grant" | "reserve" | "capture" | "release" | "refund";
export const creditTransferType = Type.Unsafe<CreditTransferType>({
  type: "string",
  enum: ["grant", "reserve", "capture", "release", "refund"],
  description:
    "grant: credit given; reserve: set aside; capture: spent; release: given back unspent; refund: given back once spent",
});

/** What a grant may bring a balance to: whatever is summed up stays far below 2^53. */
export const available_max = 1_000_000_000_000_000;

export const CreditGrant = closed({
  kind: creditKind,
  amount: Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 }),
  note: optional(Type.String({ maxLength: 500 })),
});
export type CreditGrant = Static<typeof CreditGrant>;

const amounts = Type.Object({
  available: Type.Integer({ format: "int64", description: "Free to be used" }),
  reserved: Type.Integer({
    format: "int64",
    description: "Set aside for what runs or is scheduled, and not yet spent",
  }),
});

export const CreditsAnswer = Type.Object({ chat: amounts, call: amounts });
export type CreditsAnswer = Static<typeof CreditsAnswer>;

const book = (description: string) =>
  Type.String({ enum: ["issued", "available", "reserved", "spent"], description });

export const CreditTransferAnswer = Type.Object({
  id: id("Transfer id"),
  kind: creditKind,
  type: creditTransferType,
  amount: Type.Integer({ format: "int64", description: "1 or more" }),
  from: book("The book it was taken from"),
  to: book("The book it went to"),
  at: timestamp("UTC"),
  reservation_id: nullable(id("Null for a grant")),
  subject: nullable(
    Type.String({ description: "What the reservation is for, such as chat_campaign:17" }),
  ),
  note: nullable(Type.String({ description: "What was said about a grant" })),
});
export type CreditTransferAnswer = Static<typeof CreditTransferAnswer>;
