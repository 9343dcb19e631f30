import type { Tx } from "../../../lib/database/database.ts";
import { notFound, Refusal } from "../../../lib/errors.ts";
import type { Stage } from "../../state-machine/call.ts";

type LockedCall = {
  readonly stage: Stage;
  readonly node_id: number;
  readonly fence: number;
};

export type OpenCall = LockedCall & { readonly stage: Exclude<Stage, "ended"> };

/** Locks a call: until the commit no leader claims it or stores a transition. Refuses: not-found. */
export async function lockCall(tx: Tx, accountId: number, id: number): Promise<LockedCall> {
  const call = await tx
    .selectFrom("calls")
    .select(["stage", "node_id", "fence"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!call) throw notFound();
  return { ...call, stage: call.stage as Stage };
}

/**
 * Locks a call that has not ended, as lockCall does. Refuses: not-found; conflict, which says that the
 * call can no longer be `done`, such as "hung up".
 */
export async function lockOpenCall(
  tx: Tx,
  accountId: number,
  id: number,
  done: string,
): Promise<OpenCall> {
  const { stage, ...call } = await lockCall(tx, accountId, id);
  if (stage === "ended")
    throw new Refusal("conflict", `The call has ended and can no longer be ${done}`);
  return { ...call, stage };
}
