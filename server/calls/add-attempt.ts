import { sql } from "kysely";
import { reserveCredits } from "../credits/reserve-credits.ts";
import type { Tx } from "../lib/database.ts";
import { Refusal } from "../lib/errors.ts";

/** Credits reserved for a call: the first pulse of each of its two legs. */
export const credits_a_call = 2;

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
 * Null, with nothing done, when the account has no credit for it. The last call is locked first, so
 * that two attempts never have one number, and the account's balance after it. To be hinted
 * (`call_work`) after the commit when it is due.
 */
export async function addAttempt(
  tx: Tx,
  attempt: NewAttempt,
  now: Date,
): Promise<{ call_id: number; node_id: number } | null> {
  const { account_id, campaign_id, retried_leg, due_at } = attempt;
  const last = await lockLastCall(tx, account_id, campaign_id);
  const node_id = await findNode(tx, last.trunk_id, last.node_id);
  const call_id = await nextCallId(tx);
  const reservation_id = await reserve(tx, account_id, call_id, now);
  if (reservation_id === null) return null;
  const { from_number, to_number, to_phone, cli_number, trunk_id } = last;
  await tx
    .insertInto("calls")
    .values((eb) => ({
      account_id,
      id: call_id,
      campaign_id,
      // Read now: whoever had the lock may have added one.
      attempt: eb
        .selectFrom("calls")
        .select(({ fn, lit }) => eb(fn.max("attempt"), "+", lit(1)).as("next"))
        .where("account_id", "=", account_id)
        .where("campaign_id", "=", campaign_id),
      retried_leg,
      node_id,
      trunk_id,
      from_number,
      to_number,
      to_phone,
      cli_number,
      due_at,
      queued_at: now,
      reservation_id,
      reserved: credits_a_call,
    }))
    .execute();
  return { call_id, node_id };
}

function lockLastCall(tx: Tx, accountId: number, campaignId: number) {
  return tx
    .selectFrom("calls")
    .select(["node_id", "trunk_id", "from_number", "to_number", "to_phone", "cli_number"])
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .orderBy("id", "desc")
    .limit(1)
    .forNoKeyUpdate()
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

/** Before the row, for the credit is reserved in the call's name. */
async function nextCallId(tx: Tx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('calls', 'id')) as id`.execute(tx);
  return rows[0]!.id;
}

async function reserve(
  tx: Tx,
  account_id: number,
  callId: number,
  now: Date,
): Promise<number | null> {
  const subject = `call:${callId}`;
  const reservation = { account_id, kind: "call", subject, amount: credits_a_call } as const;
  try {
    return await reserveCredits(tx, reservation, now);
  } catch (error) {
    if (error instanceof Refusal && error.type === "insufficient-credit") return null;
    throw error;
  }
}
