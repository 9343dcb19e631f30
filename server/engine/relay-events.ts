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

// A loose index scan: jumps from account to account in the index of events without seq, instead of reading
// all of it.
const findAccounts = statement<{ account_id: number }>(`
  with recursive waiting as (
    (select account_id from events where seq is null and account_id > $1
      order by account_id limit 1)
    union all
    select (
      select e.account_id from events e where e.seq is null and e.account_id > w.account_id
      order by e.account_id limit 1)
    from waiting w where w.account_id is not null
  )
  select account_id from waiting where account_id is not null limit $2`);

/** When the relay has work: see poll-work.ts. */
export const due_events = ["from events where seq is null order by account_id"];

const relayBatch = statement<{ relayed: number; deliveries: number }>(
  "select * from relay_events($1, $2, $3)",
);
