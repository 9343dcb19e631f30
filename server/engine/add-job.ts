import { sql, type Kysely } from "kysely";
import type { DB } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { withCause } from "./job-cause.ts";

/** The kinds of delayed work; worker.ts lists the handler of each. */
export const job_kinds = [
  "chat.start_campaign",
  "chat.drain_campaign",
  "chat.skip_duplicates",
  "chat.settle_unknown",
  "chat.sync_templates",
  "chat.notify_call",
  "chat.end_throttling",
  "chat.wake_campaigns",
  "chat.end_restriction",
  "voice.decode_file",
  "voice.start_campaign",
  "voice.drain_campaign",
  "voice.end_test_call",
  "crm.record_call",
  "crm.record_missed_call",
  "callbacks.replay",
  "callbacks.clear_endpoint",
  "audience.clear_group",
  "retention.erase_person",
] as const;
export type JobKind = (typeof job_kinds)[number];

export type NewJob = {
  readonly account_id: number;
  readonly kind: JobKind;
  /** What the job works on. An account has at most one open job for each kind and subject. */
  readonly subject: string;
  /** Business time. */
  readonly run_at: Date;
  readonly payload?: unknown;
};

/**
 * Adds a job in the caller's transaction. A job that is already open keeps the earlier of both times and
 * takes the new payload; a job that is running runs again afterwards. The trace of its request continues in the job.
 */
export async function addJob(db: Kysely<DB>, job: NewJob, now: Date): Promise<void> {
  const payload = JSON.stringify(withCause(job.payload ?? {}));
  await sql`
    insert into jobs as j (account_id, kind, subject, run_at, payload, created_at)
    values (${job.account_id}, ${job.kind}, ${job.subject}, ${job.run_at}, ${payload}, ${now})
    on conflict (account_id, kind, subject) do update set
      run_at = case when j.lease_until is null then least(j.run_at, excluded.run_at) else j.run_at end,
      again_at = case when j.lease_until is not null then least(j.again_at, excluded.run_at) end,
      payload = excluded.payload`.execute(db);
}

/** Wakes the workers for a due job; call it after the commit. Without it a job waits for the next poll. */
export function notifyJob(app: Pick<App, "notifications">, accountId: number): void {
  app.notifications.send("job", String(accountId));
}
