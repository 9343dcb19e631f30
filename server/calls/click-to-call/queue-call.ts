import { statement, type Tx } from "../../lib/database/database.ts";

/** Credits reserved for a call: the first pulse of each of its two legs. */
export const credits_a_call = 2;

/** An attempt to be placed by the leader of its node. */
export type NewCall = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly attempt: number;
  /** Of a retry that a person asked for: which leg it is counted against. */
  readonly retried_leg: "agent" | "customer" | null;
  readonly node_id: number;
  readonly trunk_id: number;
  /** An extension, or E.164 digits. */
  readonly from_number: string;
  readonly to_number: string;
  /** E.164 digits. */
  readonly to_phone: string;
  readonly cli_number: string | null;
  /** Not before. */
  readonly due_at: Date;
};

const queue = statement<{ id: number | null }>("select queue_call($1, $2, $3) as id");

/**
 * Queues the call with its credit reserved, and returns its id; null, with nothing done, when the
 * account has none for it. Locks the account's balance: let it be the caller's last statement. To be
 * notified (`call_work`) after the commit when it is due.
 */
export async function queueCall(tx: Tx, call: NewCall, now: Date): Promise<number | null> {
  const [queued] = await queue(tx, [JSON.stringify(call), credits_a_call, now]);
  return queued!.id;
}
