import type { Kysely } from "kysely";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, Refusal } from "../../lib/errors.ts";
import { commandCall } from "./internal/command-call.ts";
import { lockOpenCall } from "./internal/lock-call.ts";

/**
 * Transfers the customer of a call to an extension and returns the call's node. After the commit the
 * node's leader dials the extension; agent and customer keep talking until it answers. The caller sends
 * `call_command`. Refuses: not-found; conflict unless the two are talking; 422 on `extension` if the
 * account has no such extension (the sandbox accepts any).
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
    throw invalidField("extension", "is not an extension of this account");
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
  if (found) return true;
  const node = db.selectFrom("voice_nodes").select("driver").where("id", "=", node_id);
  return (await node.executeTakeFirstOrThrow()).driver === "sandbox";
}
