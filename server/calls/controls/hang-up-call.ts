import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { commandCall } from "./internal/command-call.ts";
import { readCall } from "../state-machine/read-call.ts";
import { cancelQueuedCall } from "../state-machine/transition.ts";
import { writeTransition } from "../state-machine/write-transition.ts";
import { lockCall, lockOpenCall } from "./internal/lock-call.ts";

/**
 * Ends a call. One that still waits is over with the commit, its credit given back; a live one is hung
 * up by the leader of its node, soon after the commit and a notification of `call_command`; one that is ending
 * already goes on ending. Returns the node. Refuses: not-found; conflict when it is over.
 */
export async function hangUpCall(
  tx: Tx,
  actor: UserActor,
  id: number,
  now: Date,
): Promise<{ node_id: number }> {
  const { account_id } = actor;
  const { stage, node_id, fence } = await lockOpenCall(tx, account_id, id, "hung up");
  if (stage === "ending") return { node_id };
  await recordAudit(tx, actor, { at: now, action: "call.hung_up", subject_id: id });
  if (stage === "queued") await cancelCall(tx, { account_id, id, fence }, now);
  else await commandCall(tx, actor, { call_id: id, node_id, kind: "hangup", target: null }, now);
  return { node_id };
}

/** Ends a call if it waits still; see hangUpCall. */
export async function takeBackCall(
  tx: Tx,
  { account_id, id }: { readonly account_id: number; readonly id: number },
  now: Date,
): Promise<void> {
  const call = await lockCall(tx, account_id, id);
  if (call.stage === "queued") await cancelCall(tx, { account_id, id, fence: call.fence }, now);
}

const readState = statement<{ call: unknown }>("select call_state($1, $2) as call");

/** The call is locked and nobody's; what is given back locks the account's balance, and so comes last. */
async function cancelCall(
  tx: Tx,
  { account_id, id, fence }: { account_id: number; id: number; fence: number },
  now: Date,
): Promise<void> {
  const [row] = await readState(tx, [account_id, id]);
  const call = readCall(row!.call);
  await writeTransition(tx, fence, call, cancelQueuedCall(call, now), now);
}
