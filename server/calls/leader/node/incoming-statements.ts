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

const beginCall = statement<{ call: unknown }>(
  "select begin_incoming_call($1, $2, $3, $4, $5, $6, $7, $8, $9) as call",
);

/** Stores an incoming call whose caller's leg rings, unless its channel has one, and returns it. */
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
): Promise<Call> {
  const { account_id, node_id, trunk_id, fence, called, phone, channel, content } = of;
  const values = [account_id, node_id, trunk_id, fence, called, phone, channel];
  const [row] = await beginCall(db, [...values, JSON.stringify(content), now]);
  return readCall(row!.call);
}
