import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import Type, { type Static } from "typebox";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id } from "../../lib/schemas.ts";
import { hold_scopes, liftHold } from "./holds.ts";

/** Other holds end automatically or by their own action, such as a resume, a top-up or the morning. */
const reasons_by_hand = [
  "sender_restricted",
  "auth",
  "template_paused",
  "error_threshold",
] as const;

export const HoldToLift = closed(
  {
    scope: Type.Enum(hold_scopes, { type: "string" }),
    subject_id: id("Of the campaign, template or number; 0 for the account"),
    reason: Type.Enum(reasons_by_hand, { type: "string" }),
  },
  {
    title: "ChatHoldLift",
    examples: [{ scope: "number", subject_id: 1, reason: "sender_restricted" }],
  },
);
export type HoldToLift = Static<typeof HoldToLift>;

/**
 * Lifts a hold by hand; returns the chat numbers to notify on `chat_work`. It is set again if its
 * cause remains, but not by a failure from before the lift. Errors: not-found without such a hold.
 */
export async function liftHoldManually(
  tx: Tx,
  actor: Actor,
  { scope, subject_id, reason }: HoldToLift,
  now: Date,
): Promise<readonly number[]> {
  const { account_id } = actor;
  const held = { account_id, scope, subject_id: knownId(subject_id), reason };
  await dateLift(tx, held, now);
  const { lifted, number_ids } = await liftHold(tx, held, now);
  if (!lifted)
    throw new Refusal("not-found", "This hold does not exist; GET /api/v1/chat/holds lists all");
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_hold.lifted",
    subject_id,
    detail: { scope, reason },
  });
  return number_ids;
}

/** Stores when a hold was lifted that failures of messages set. Locks the number or template before its hold. */
async function dateLift(
  tx: Tx,
  { account_id, scope, subject_id, reason }: HoldToLift & { readonly account_id: number },
  now: Date,
): Promise<void> {
  if (scope === "number" && (reason === "sender_restricted" || reason === "auth"))
    await tx
      .updateTable("chat_numbers")
      .set(reason === "auth" ? { auth_lifted_at: now } : { restriction_lifted_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", subject_id)
      .execute();
  if (scope === "template" && reason === "template_paused")
    await tx
      .updateTable("chat_templates")
      .set({ pause_lifted_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", subject_id)
      .execute();
}
