// Deletes records whose retention period has ended. A step is one transaction with a limited number of rows,
// so a crash neither repeats nor loses anything. Each due account runs one round of steps before any repeats.
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database/database.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../lib/database/database-errors.ts";
import { nextCheckMs, findDueAccounts, type DueAccount } from "./due-accounts.ts";

/** Rows per transaction; of events ten times as many, and of their deliveries and attempts twice as many. */
const rows_max = 1_000;

/** The steps in order. purge-recordings.ts deletes recordings; calls are deleted after their recordings. */
const settings = [
  "events",
  "endpoints",
  "messages",
  "voice_recipients",
  "calls",
  "call_usage",
  "idempotency_keys",
  "audit",
  "ledger",
  "sessions",
  "invitations",
  "sign_in_links",
] as const;

/**
 * Runs one step of each setting for each due account. An account without further expired records is due again
 * some hours later. Any number of processes may run it: each account is locked by one at a time. Returns the
 * number of events, endpoints, recipients, replies, calls, hourly counts of calls, idempotency keys, audit entries,
 * sessions, invitations and sign-in links deleted, and of transfers folded.
 */
export async function applyRetention(app: App, stopping: AbortSignal): Promise<number> {
  let purged = 0;
  for await (const account of findDueAccounts(app, "retention")) {
    if (stopping.aborted) break;
    try {
      purged += await visit(app, account, stopping);
    } catch (err) {
      if (isDatabaseUnavailable(err) && !isOfOneStatement(err)) throw err;
      const { account_id } = account;
      app.log.error({ err, account_id }, "could not delete the account's expired records");
    }
  }
  return purged;
}

async function visit(
  app: App,
  { account_id, due_at }: DueAccount,
  stopping: AbortSignal,
): Promise<number> {
  const now = app.clock.now();
  let purged = 0;
  let more = false;
  let left: readonly string[] = settings;
  while (left.length > 0) {
    if (stopping.aborted) return purged;
    const [step] = await runSteps(app.db.pool, [account_id, left, rows_max, now]);
    // Another process has locked the account.
    if (!step) return purged;
    purged += step.purged;
    more ||= step.more;
    left = step.settings;
  }
  if (!more) await postpone(app.db.pool, [account_id, due_at, nextCheckMs(app), now]);
  return purged;
}

const runSteps = statement<{ purged: number; more: boolean; settings: readonly string[] }>(
  "select purged, more, settings from apply_retention_steps($1, $2, $3, $4)",
);

// Unless the settings were changed meanwhile. Deletes the positions of the backlog: what was skipped is found at the next
// visit.
const postpone = statement(`
  with begun as (delete from retention_positions where account_id = $1)
  update accounts set retention_due_at = $4::timestamptz + $3 * interval '1 ms'
  where account_id = $1 and retention_due_at = $2::text::timestamptz`);
