// The SQL statements of incoming calls.
import { statement, type Executor } from "../../../lib/database/database.ts";
import type { Call } from "../../state-machine/call.ts";
import { readCall } from "../../state-machine/read-call.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";

/** An account's phone number, as find_called_number() returns it. */
export type CalledNumber = {
  readonly account_id: number;
  readonly country_code: string;
  /** E.164 digits. */
  readonly number: string;
  /** The menu that answers; null: the number has no route, or its audio is missing or not ready. */
  readonly content: VoiceContent | null;
};

/** Finds the phone numbers that these called digits may mean, the exact one first. */
export const findCalledNumber = statement<CalledNumber>(
  "select account_id, country_code, number, content from find_called_number($1)",
);

const insertRefused = statement(`
  insert into refused_calls (account_id, node_id, channel, recorded_at) values ($1, $2, $3, $4)
  on conflict do nothing returning 1`);

/** A refused call of an account, by its name at the switch. */
export type RefusedCall = {
  readonly account_id: number;
  readonly node_id: number;
  readonly channel: string;
};

/** Stores that the call is recorded as missed; false if that is stored already. */
export async function addRefusedCall(
  db: Executor,
  { account_id, node_id, channel }: RefusedCall,
  now: Date,
): Promise<boolean> {
  return (await insertRefused(db, [account_id, node_id, channel, now])).length > 0;
}

const deleteRefused = statement(`
  delete from refused_calls
  where account_id = $1 and node_id = $2 and (channel = $3 or recorded_at < $4)`);

/** How long a call is kept that ended before its node leader could refuse it. */
const kept_ms = 86_400_000;

/** Deletes a call that the switch has refused, and those of the node that were recorded a day ago or earlier. */
export async function removeRefusedCall(
  db: Executor,
  { account_id, node_id, channel }: RefusedCall,
  now: Date,
): Promise<void> {
  await deleteRefused(db, [account_id, node_id, channel, new Date(now.getTime() - kept_ms)]);
}

const beginCall = statement<{ call: unknown }>(
  "select begin_incoming_call($1, $2, $3, $4, $5, $6, $7, $8, $9) as call",
);

/** Finds the account's call of the node that has not ended, by its channel. */
export const findStoredCall = statement(`
  select 1 from calls
  where account_id = $1 and node_id = $2 and stage not in ('queued', 'ending', 'ended')
    and incoming ->> 'channel' = $3`);

/**
 * Stores an incoming call whose caller's leg rings, unless its channel has one, and returns it; null if the trunk was
 * deleted.
 */
export async function beginIncomingCall(
  db: Executor,
  of: {
    readonly account_id: number;
    readonly node_id: number;
    readonly trunk_id: number;
    readonly fence: number;
    readonly called: string;
    /** E.164 digits; empty: withheld. */
    readonly phone: string;
    readonly channel: string;
    readonly content: VoiceContent;
  },
  now: Date,
): Promise<Call | null> {
  const { account_id, node_id, trunk_id, fence, called, phone, channel, content } = of;
  const values = [account_id, node_id, trunk_id, fence, called, phone, channel];
  const [row] = await beginCall(db, [...values, JSON.stringify(content), now]);
  return row!.call === null ? null : readCall(row!.call);
}
