import type { Kysely } from "kysely";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, Refusal } from "../../lib/errors.ts";
import { commandCall } from "./internal/command-call.ts";
import { findVoiceNode } from "../../telephony/nodes/find-voice-node.ts";
import { lockOpenCall } from "./internal/lock-call.ts";

/**
 * Puts the customer of a call through to an extension: the leader of its node dials that soon after
 * the commit and a notification of `call_command`, and the two go on talking until it answers. Returns the
 * node. Refuses: not-found; conflict unless the two are talking; 422 on `extension` when the account
 * has none of this number (a sandbox has every one).
 */
export async function transferCall(
  tx: Tx,
  actor: UserActor,
  { id, extension }: { readonly id: number; readonly extension: string },
  now: Date,
): Promise<{ node_id: number }> {
  const { account_id } = actor;
  const { stage, node_id } = await lockOpenCall(tx, account_id, id, "transferred");
  if (!(await hasExtension(tx, { account_id, node_id }, extension)))
    throw invalidField("extension", "is no extension of this account");
  if (stage !== "talking")
    throw new Refusal("conflict", "Only a call in progress can be transferred");
  await recordAudit(tx, actor, { at: now, action: "call.transferred", subject_id: id });
  await commandCall(tx, actor, { call_id: id, node_id, kind: "transfer", target: extension }, now);
  return { node_id };
}

async function hasExtension(
  db: Kysely<DB>,
  { account_id, node_id }: { account_id: number; node_id: number },
  extension: string,
): Promise<boolean> {
  const found = await db
    .selectFrom("extensions")
    .select("id")
    .where("account_id", "=", account_id)
    .where("extension", "=", extension)
    .executeTakeFirst();
  return found !== undefined || (await findVoiceNode(db, node_id)).driver === "sandbox";
}
