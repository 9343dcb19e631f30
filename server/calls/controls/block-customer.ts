import { suppress, type Suppression } from "../../audience/suppressions/suppress.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { Call } from "../state-machine/call.ts";

/**
 * Whether the end of a click-to-call blocks its customer for `auto_block_time`: no automatic retry follows, and it was
 * placed, or it is an automatic retry itself, which always follows a placed call.
 */
export function blocksCustomer(call: Call): boolean {
  const { voice, direction, stage, click_to_call, attempt, retried_leg, initiated_at, retry_at } =
    call;
  if (voice || direction === "inbound" || stage !== "ended" || retry_at !== null) return false;
  const isAutomaticRetry = attempt > 1 && retried_leg === null;
  return click_to_call.auto_block_minutes !== null && (initiated_at !== null || isAutomaticRetry);
}

/** Suppresses calls to the customer for `auto_block_time` after the end of the call; see blocksCustomer. */
export async function blockCustomer(tx: Tx, call: Call, now: Date): Promise<void> {
  const until_ms = call.ended_at!.getTime() + call.click_to_call.auto_block_minutes! * 60_000;
  const expires_at = new Date(until_ms);
  const reason = "auto_block_time of a call";
  const evidence = { call_id: call.id };
  await suppressVoice(tx, call, { reason, source: "auto_block", evidence, expires_at }, now);
}

/** Suppresses calls to the customer of a call. */
export async function suppressVoice(
  tx: Tx,
  { account_id, to_phone: phone }: Call,
  suppression: Pick<Suppression, "reason" | "source" | "evidence" | "expires_at">,
  now: Date,
): Promise<void> {
  const of = { account_id, person: { phone }, channel: "voice", scope: "all" } as const;
  await suppress(tx, { ...of, occurred_at: now, created_by: null, ...suppression }, now);
}
