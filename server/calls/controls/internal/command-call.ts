import type { UserActor } from "../../../accounts/audit/record-audit.ts";
import type { Tx } from "../../../lib/database/database.ts";

export type CallCommand = {
  readonly call_id: number;
  readonly node_id: number;
} & (
  | { readonly kind: "hangup"; readonly target: null }
  | { readonly kind: "transfer"; readonly target: string }
);

/**
 * Stores a command for the leader of the call's node. The caller sends `call_command` with the node
 * after the commit.
 */
export async function commandCall(
  tx: Tx,
  actor: UserActor,
  command: CallCommand,
  now: Date,
): Promise<void> {
  const { account_id, user_id: requested_by } = actor;
  await tx
    .insertInto("call_commands")
    .values({ account_id, ...command, requested_by, created_at: now })
    .execute();
}
