import { addJob } from "../../../engine/add-job.ts";
import { recordEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";

/** An incoming call that was refused, or whose caller got no agent. */
export type MissedCall = {
  readonly account_id: number;
  /** E.164 digits; null: withheld. */
  readonly phone: string | null;
  readonly called_number: string;
  readonly trunk_id: number;
  /** Identifies the call. */
  readonly subject: string;
};

/** Reports the missed call, and records it on the person in the background. */
export async function recordMissedCall(tx: Tx, missed: MissedCall, now: Date): Promise<void> {
  const { account_id, phone, called_number, trunk_id } = missed;
  await recordEvent(tx, {
    account_id,
    type: "call.missed",
    occurred_at: now,
    data: { phone_number: phone, called_number, trunk_id },
  });
  if (phone === null) return;
  const subject = `missed_call:${missed.subject}`;
  const payload = { phone, called_number, at: now.toISOString() };
  const kind = "crm.record_missed_call";
  await addJob(tx, { account_id, kind, subject, run_at: now, payload }, now);
}
