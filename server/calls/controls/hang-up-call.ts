import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import type { Call } from "../state-machine/call.ts";
import { blockCustomer, blocksCustomer } from "./block-customer.ts";
import { commandCall } from "./internal/command-call.ts";
import { readCall } from "../state-machine/read-call.ts";
import { cancelQueuedCall, loseCall, type CancelReason } from "../state-machine/transition.ts";
import { writeTransition } from "../state-machine/write-transition.ts";
import { lockCall, lockOpenCall } from "./internal/lock-call.ts";

/**
 * Ends a call and returns its node. A queued call ends with the commit, and its credit is released. The
 * node's leader hangs up a live call after the commit; the caller sends `call_command`. Has no effect
 * on a call that is already ending. Refuses: not-found; conflict if the call has ended.
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
  const reason = "hung_up_by_api" as const;
  if (stage === "queued") await cancelCall(tx, { account_id, id, fence }, { reason }, now);
  else await commandCall(tx, actor, { call_id: id, node_id, kind: "hangup", target: null }, now);
  return { node_id };
}

type Cancellation = {
  readonly reason: CancelReason;
  /** Whether the customer is erased: then no suppression is added. */
  readonly is_erasure?: boolean;
};

/** Ends a call if it is still queued; see hangUpCall. */
export async function cancelIfQueued(
  tx: Tx,
  { account_id, id }: { readonly account_id: number; readonly id: number },
  now: Date,
  cancellation: Cancellation = { reason: "hung_up_by_api" },
): Promise<void> {
  const { stage, fence } = await lockCall(tx, account_id, id);
  if (stage === "queued") await cancelCall(tx, { account_id, id, fence }, cancellation, now);
}

/**
 * Decides a live call of a restored database as lost; see loseCall. The next node leader hangs up its legs. One without
 * live legs ends with the commit. Returns whether the call was changed.
 */
export async function endIfLive(
  tx: Tx,
  { account_id, id }: { readonly account_id: number; readonly id: number },
  now: Date,
): Promise<boolean> {
  const { stage, fence } = await lockCall(tx, account_id, id);
  if (stage === "queued" || stage === "ended") return false;
  const call = await readLocked(tx, account_id, id);
  const next = loseCall(call, now);
  if (next === null || !(await writeTransition(tx, fence, call, next, now))) return false;
  if (blocksCustomer(next.call)) await blockCustomer(tx, next.call, now);
  return true;
}

const readState = statement<{ call: unknown }>("select call_state($1, $2) as call");

async function readLocked(tx: Tx, account_id: number, id: number): Promise<Call> {
  const [row] = await readState(tx, [account_id, id]);
  return readCall(row!.call);
}

/** Ends a locked call without a leader. Releasing its credit locks the account's balance, so call it last. */
async function cancelCall(
  tx: Tx,
  { account_id, id, fence }: { account_id: number; id: number; fence: number },
  { reason, is_erasure = false }: Cancellation,
  now: Date,
): Promise<void> {
  const before = await readLocked(tx, account_id, id);
  const next = cancelQueuedCall(before, reason, now);
  await writeTransition(tx, fence, before, next, now);
  if (!is_erasure && blocksCustomer(next.call)) await blockCustomer(tx, next.call, now);
}
