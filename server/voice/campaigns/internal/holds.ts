// What keeps a campaign's calls from being placed: a set, of which the highest-ranked is shown.
import Type, { type Static } from "typebox";
import type { Tx } from "../../../lib/database/database.ts";
import { nullable, timestamp } from "../../../lib/schemas.ts";

/** Highest rank first: what needs a person most is shown. */
export const hold_reasons = ["error_threshold", "credit", "manual"] as const;
export type HoldReason = (typeof hold_reasons)[number];

/** A hold as the API shows it. */
export const HoldAnswer = Type.Object({
  reason: Type.Enum(hold_reasons, { type: "string" }),
  detail: nullable(Type.String({ description: "What there is to know of it" })),
  set_at: timestamp("UTC"),
});
export type HoldAnswer = Static<typeof HoldAnswer>;

type Held = { readonly account_id: number; readonly campaign_id: number };

/** Sets a hold; false when it was there already, and then its time and detail stay. Lock the campaign first. */
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

/** Takes every hold of a campaign away and returns their reasons. Lock the campaign first. */
export async function liftHolds(tx: Tx, { account_id, campaign_id }: Held): Promise<HoldReason[]> {
  const lifted = await tx
    .deleteFrom("voice_holds")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .returning("reason")
    .execute();
  return lifted.map(({ reason }) => reason as HoldReason).toSorted();
}
