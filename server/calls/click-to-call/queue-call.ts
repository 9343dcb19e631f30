import { statement, type Tx } from "../../lib/database/database.ts";

/** The credits reserved for a call: the first pulse of each of its two legs. */
export const credits_per_call = 2;

/** An attempt that the leader of its node will place. */
export type NewCall = {
  readonly account_id: number;
  readonly campaign_id: number;
  readonly attempt: number;
  /** The leg that a manual retry counts against; null for other calls. */
  readonly retried_leg: "agent" | "customer" | null;
  readonly node_id: number;
  readonly trunk_id: number;
  /** An extension, or E.164 digits. */
  readonly from_number: string;
  readonly to_number: string;
  /** E.164 digits. */
  readonly to_phone: string;
  readonly cli_number: string | null;
  /** The earliest time to place the call. */
  readonly due_at: Date;
};

const queue = statement<{ id: number | null }>("select queue_call($1, $2, $3) as id");

/**
 * Reserves credit, queues the call and returns its ID; null, without any effect, if the account has
 * insufficient credit. Locks the account's balance, so call it last in a transaction. The caller sends
 * `call_work` after the commit if the call is due.
 */
export async function queueCall(tx: Tx, call: NewCall, now: Date): Promise<number | null> {
  const [queued] = await queue(tx, [JSON.stringify(call), credits_per_call, now]);
  return queued!.id;
}
