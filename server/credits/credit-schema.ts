// Request and response schemas of credits, for the API and the command line.
import Type, { type Static } from "typebox";
import { closed, id, nullable, optional, timestamp } from "../lib/schemas.ts";

/** Chat credit pays for messages, call credit for pulses of calls. */
export const credit_kinds = ["chat", "call"] as const;
export type CreditKind = (typeof credit_kinds)[number];
export const creditKind = Type.Unsafe<CreditKind>({
  type: "string",
  enum: [...credit_kinds],
  description: "chat pays for messages, call for pulses of calls",
});

/** Each type moves credit between two ledger accounts, defined in migrations/0008-credits.sql. */
export const credit_transfer_types = ["grant", "reserve", "capture", "release", "refund"] as const;
export type CreditTransferType = (typeof credit_transfer_types)[number];
export const creditTransferType = Type.Unsafe<CreditTransferType>({
  type: "string",
  enum: [...credit_transfer_types],
  description:
    "grant: credit added; reserve: set aside; capture: spent; release: reserved credit returned; refund: spent credit returned",
});

/** The largest balance after a grant, so that sums stay far below 2^53. */
export const available_max = 1_000_000_000_000_000;

export const CreditGrant = closed({
  kind: creditKind,
  amount: Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 }),
  note: optional(Type.String({ maxLength: 500 })),
});
export type CreditGrant = Static<typeof CreditGrant>;

const amounts = Type.Object(
  {
    available: Type.Integer({ format: "int64", description: "Can be used" }),
    reserved: Type.Integer({
      format: "int64",
      description: "Set aside for running and scheduled work, not spent yet",
    }),
  },
  { title: "CreditBalance" },
);

export const CreditsResponse = Type.Object({ chat: amounts, call: amounts }, { title: "Credits" });
export type CreditsResponse = Static<typeof CreditsResponse>;

const ledgerAccount = (description: string) =>
  Type.String({ enum: ["issued", "available", "reserved", "spent"], description });

export const CreditTransferResponse = Type.Object(
  {
    id: id("Transfer id"),
    kind: creditKind,
    type: creditTransferType,
    amount: Type.Integer({ format: "int64", description: "1 or more" }),
    from: ledgerAccount("The ledger account that is debited"),
    to: ledgerAccount("The ledger account that is credited"),
    at: timestamp("UTC"),
    reservation_id: nullable(
      id(
        "Null for a grant, and for the sum of a day that the account's ledger_days no longer keeps singly",
      ),
    ),
    subject: nullable(
      Type.String({ description: "What the reservation is for, such as chat_campaign:17" }),
    ),
    note: nullable(Type.String({ description: "Note of a grant" })),
  },
  { title: "CreditTransfer" },
);
export type CreditTransferResponse = Static<typeof CreditTransferResponse>;
