// Takes what has been kept as long as its account wants. A step is one transaction of some rows, so a
// crash repeats and loses nothing; each account that is due has a few steps before any has more.
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database/database.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../lib/database/database-errors.ts";
import { anew_ms, findDueAccounts, type DueAccount } from "./due-accounts.ts";

/** Of one transaction. */
const rows_max = 1_000;

/** In this order; each is a step of its own. Recordings go by forget-recordings.ts, and calls after them. */
const settings = ["events", "endpoints", "messages", "voice_recipients", "calls"] as const;

/**
 * A turn: a step of each setting for each account that is due. An account without more to take is due
 * again some hours later. Any number of processes may run it, one at a time has an account. Returns how
 * many events, endpoints, recipients, replies and calls went.
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
      app.log.error({ err, account_id }, "what an account keeps too long could not be taken");
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
  for (const setting of settings) {
    if (stopping.aborted) return purged;
    const [step] = await takeStep(app.db.pool, [account_id, setting, rows_max, now]);
    // Another process has the account.
    if (!step) return purged;
    purged += step.purged;
    more ||= step.more;
  }
  if (!more) await putOff(app.db.pool, [account_id, due_at, anew_ms(app), now]);
  return purged;
}

const takeStep = statement<{ purged: number; more: boolean }>(
  "select purged, more from apply_retention($1, $2, $3, $4)",
);

// Unless the settings have been changed meanwhile.
const putOff = statement(`
  update accounts set retention_due_at = $4::timestamptz + $3 * interval '1 ms'
  where account_id = $1 and retention_due_at::text = $2`);
