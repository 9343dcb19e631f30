import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";
import { queueCall } from "../click-to-call/queue-call.ts";

export type NewAttempt = {
  readonly account_id: number;
  readonly campaign_id: number;
  /** The leg that a manual retry counts against; null for an automatic retry. */
  readonly retried_leg: "agent" | "customer" | null;
  /** The earliest time to place the call. */
  readonly due_at: Date;
};

/**
 * Why an attempt cannot be added. `no_trunk`: its trunk is inactive or deleted, and takes no new calls. `no_node`: its
 * node was deleted, and the trunk has no other active one of the same driver.
 */
type Refused = "insufficient_credit" | "no_trunk" | "no_node";

/**
 * Adds the campaign's next attempt, a copy of its last call on the same trunk, if that is active, and reserves its credit.
 * Without any effect if it is refused. Locks the campaign, so that attempt numbers are unique, and then
 * the account's balance. The caller sends `call_work` after the commit if the call is due.
 */
export async function addAttempt(
  tx: Tx,
  wanted: NewAttempt,
  now: Date,
): Promise<{ call_id: number; node_id: number } | Refused> {
  const { account_id, campaign_id } = wanted;
  await lockCampaign(tx, account_id, campaign_id);
  const { attempt, ...last } = await findLastCall(tx, account_id, campaign_id);
  if (!(await isActive(tx, last.trunk_id))) return "no_trunk";
  const node_id = await findNode(tx, last.trunk_id, last.node_id);
  if (node_id === null) return "no_node";
  const call = { ...last, ...wanted, attempt: attempt + 1, node_id };
  const call_id = await queueCall(tx, call, now);
  return call_id === null ? "insufficient_credit" : { call_id, node_id };
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

/** Runs under the campaign's lock, because another transaction may have added an attempt. */
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

async function isActive(tx: Tx, trunkId: number): Promise<boolean> {
  const trunk = await tx
    .selectFrom("trunks")
    .select("active")
    .where("id", "=", trunkId)
    .executeTakeFirst();
  return trunk?.active ?? false;
}

/**
 * Returns the same node if it is active, else another active node of the trunk that has the same driver, else the same
 * node if it exists. The sandbox would only simulate a real call, and a call to the sandbox would ring real phones: if
 * the node was deleted, all nodes of the trunk must have one driver.
 */
async function findNode(tx: Tx, trunkId: number, nodeId: number): Promise<number | null> {
  const isUsable = sql<boolean>`(s.trunk_id is not null and n.active and n.driver = coalesce(
    (select o.driver from voice_nodes o where o.id = ${nodeId}),
    (select case when count(distinct o.driver) = 1 then min(o.driver) end
      from trunk_nodes k join voice_nodes o on o.id = k.node_id where k.trunk_id = ${trunkId})))`;
  const found = await tx
    .selectFrom("voice_nodes as n")
    .leftJoin("trunk_nodes as s", (on) =>
      on.onRef("s.node_id", "=", "n.id").on("s.trunk_id", "=", trunkId),
    )
    .select("n.id")
    .where((eb) => eb.or([isUsable, eb("n.id", "=", nodeId)]))
    .orderBy(isUsable, "desc")
    .orderBy((eb) => eb("n.id", "=", nodeId), "desc")
    .orderBy((eb) => eb("n.connected_at", "is not", null), "desc")
    .orderBy("n.id")
    .limit(1)
    .executeTakeFirst();
  return found?.id ?? null;
}
