import type { Tx } from "../lib/database.ts";
import { notFound, Refusal } from "../lib/errors.ts";
import type { Stage } from "./life/call.ts";

export type OpenCall = {
  readonly stage: Exclude<Stage, "ended">;
  readonly node_id: number;
  readonly fence: number;
};

/**
 * Locks a call that is not over yet: until the commit no leader takes it up or takes it a step
 * further. Refuses: not-found; conflict, which says that it cannot be `done` any more.
 */
export async function lockOpenCall(
  tx: Tx,
  accountId: number,
  id: number,
  done: string,
): Promise<OpenCall> {
  const call = await tx
    .selectFrom("calls")
    .select(["stage", "node_id", "fence"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!call) throw notFound();
  const stage = call.stage as Stage;
  if (stage === "ended")
    throw new Refusal("conflict", `The call is over and cannot be ${done} any more`);
  return { ...call, stage };
}
