// The holds of a campaign: any of them stops its calls, and the one with the highest rank is shown.
import Type, { type Static } from "typebox";
import type { Tx } from "../../lib/database/database.ts";
import { nullable, timestamp } from "../../lib/schemas.ts";

/** Highest rank first: the hold that most needs a person's attention. */
export const hold_reasons = ["trunk", "error_threshold", "credit", "manual"] as const;
export type HoldReason = (typeof hold_reasons)[number];

/** A hold as the API shows it. */
export const HoldResponse = Type.Object(
  {
    reason: Type.Enum(hold_reasons, { type: "string" }),
    detail: nullable(Type.String({ description: "Details of the reason" })),
    set_at: timestamp("UTC"),
  },
  { title: "VoiceHold" },
);
export type HoldResponse = Static<typeof HoldResponse>;

type Held = { readonly account_id: number; readonly campaign_id: number };

/** Sets a hold; returns false and keeps the existing one if it is already set. Lock the campaign first. */
export async function hold(
  tx: Tx,
  { account_id, campaign_id }: Held,
  { reason, detail }: { readonly reason: HoldReason; readonly detail: string | null },
  now: Date,
): Promise<boolean> {
  const set = await tx
    .insertInto("voice_holds")
    .values({ account_id, campaign_id, reason, detail, set_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning("reason")
    .executeTakeFirst();
  return set !== undefined;
}

/** Removes every hold of a campaign and returns their reasons. Lock the campaign first. */
export async function liftHolds(tx: Tx, { account_id, campaign_id }: Held): Promise<HoldReason[]> {
  const lifted = await tx
    .deleteFrom("voice_holds")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .returning("reason")
    .execute();
  return lifted.map(({ reason }) => reason as HoldReason).toSorted();
}
