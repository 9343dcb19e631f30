// The outbox relay: assigns committed events their sequence number and creates their deliveries. Readers
// follow `seq > last`. Because `seq` is assigned after commit and without gaps, no event can appear behind a
// reader.
import { statement } from "../lib/database/database.ts";
import { isDatabaseUnavailable } from "../lib/database/database-errors.ts";
import type { App } from "./app.ts";

/** Events of one account per transaction. */
const batch_events = 1_000;
/** Accounts found by one statement. */
const page_accounts = 500;
/** Concurrent batches: they share the disk flush at commit. */
const lanes = 4;

/**
 * Relays one batch of each account that has new events and returns the number of events relayed. Any number
 * of processes may run it: each account is locked by one at a time.
 */
export async function relayEvents(app: App, stopping: AbortSignal): Promise<number> {
  let relayed = 0;
  let after = -1;
  while (!stopping.aborted) {
    const found = await findAccounts(app.db.pool, [after, page_accounts]);
    relayed += await relayAccounts(app, found, stopping);
    if (found.length < page_accounts) break;
    after = found.at(-1)!.account_id;
  }
  return relayed;
}

async function relayAccounts(
  app: App,
  found: readonly { account_id: number }[],
  stopping: AbortSignal,
): Promise<number> {
  const accounts = found.values();
  let relayed = 0;
  const work = async () => {
    for (const { account_id } of accounts) {
      if (stopping.aborted) break;
      const values = [account_id, batch_events, app.clock.now()];
      try {
        const [batch] = await relayBatch(app.db.pool, values);
        relayed += batch!.relayed;
        if (batch!.relayed > 0) app.notifications.send("events", String(account_id));
        if (batch!.deliveries > 0) app.notifications.send("callback_work", String(account_id));
      } catch (err) {
        if (isDatabaseUnavailable(err)) throw err;
        app.log.error({ err, account_id }, "could not relay the account's events");
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return relayed;
}

// A function, because Citus needs another body.
const findAccounts = statement<{ account_id: number }>(
  "select account_id from accounts_with_new_events($1, $2)",
);

/** When the relay has work: see poll-work.ts. */
export const due_events = ["from events where seq is null order by account_id"];

const relayBatch = statement<{ relayed: number; deliveries: number }>(
  "select * from relay_events($1, $2, $3)",
);
