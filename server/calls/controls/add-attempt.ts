import type { Tx } from "../../lib/database/database.ts";
import { queueCall } from "../click-to-call/queue-call.ts";

export type NewAttempt = {
  readonly account_id: number;
  readonly campaign_id: number;
  /** Of a retry that a person asked for: which leg it is counted against. */
  readonly retried_leg: "agent" | "customer" | null;
  /** Not before. */
  readonly due_at: Date;
};

/**
 * Adds the campaign's next call as its last one was, over the same trunk, with its credit reserved.
 * Null, with nothing done, when the account has no credit for it. The campaign is locked first, so
 * that two attempts never have one number, and the account's balance after it. To be notified
 * (`call_work`) after the commit when it is due.
 */
export async function addAttempt(
  tx: Tx,
  asked: NewAttempt,
  now: Date,
): Promise<{ call_id: number; node_id: number } | null> {
  const { account_id, campaign_id } = asked;
  await lockCampaign(tx, account_id, campaign_id);
  const { attempt, ...last } = await findLastCall(tx, account_id, campaign_id);
  const node_id = await findNode(tx, last.trunk_id, last.node_id);
  const call = { ...last, ...asked, attempt: attempt + 1, node_id };
  const call_id = await queueCall(tx, call, now);
  return call_id === null ? null : { call_id, node_id };
}

async function lockCampaign(tx: Tx, accountId: number, campaignId: number): Promise<void> {
  await tx
    .selectFrom("call_campaigns")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", campaignId)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
}

/** Read under the lock: whoever had it before may have added one. */
function findLastCall(tx: Tx, accountId: number, campaignId: number) {
  return tx
    .selectFrom("calls")
    .select(["attempt", "node_id", "trunk_id", "from_number", "to_number", "to_phone"])
    .select("cli_number")
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .orderBy("attempt", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
}

/** The node it was on, if that takes calls still; else another of the trunk's; without any, it waits where it was. */
async function findNode(tx: Tx, trunkId: number, nodeId: number): Promise<number> {
  const found = await tx
    .selectFrom("trunk_nodes as s")
    .innerJoin("voice_nodes as n", "n.id", "s.node_id")
    .select("n.id")
    .where("s.trunk_id", "=", trunkId)
    .where("n.active", "=", true)
    .orderBy((eb) => eb("n.id", "=", nodeId), "desc")
    .orderBy((eb) => eb("n.connected_at", "is not", null), "desc")
    .orderBy("n.id")
    .limit(1)
    .executeTakeFirst();
  return found?.id ?? nodeId;
}
