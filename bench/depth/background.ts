import { relayEvents } from "../../server/engine/relay-events.ts";
import { applyRetention } from "../../server/retention/apply-retention.ts";
import type { Fixture, Name } from "./fixture.ts";
import { timeEach, type Timings } from "./timing.ts";

const never = new AbortController().signal;

/** Measures iterations of the background for one account, each with the statement that gives it work. */
export async function measureIterations(
  fixture: Fixture,
  name: Name,
  samples: number,
): Promise<Timings> {
  const { app, db } = fixture;
  const { account_id } = fixture.account(name);
  // No other account is due.
  await db.query("update accounts set retention_due_at = now() + interval '1 day'");
  // The events of the writes before.
  while ((await relayEvents(app, never)) > 0);
  return timeEach(
    {
      "iteration: the relay, 1,000 events": async () => {
        await db.query(add_events, [account_id]);
        const relayed = await relayEvents(app, never);
        if (relayed !== 1_000) throw new Error(`${relayed} events were relayed`);
      },
      "iteration: the relay, nothing": () => relayEvents(app, never),
      "iteration: retention, nothing expired": async () => {
        await db.query(make_due, [account_id]);
        await applyRetention(app, never);
      },
    },
    samples,
  );
}

const add_events = `
  insert into events (account_id, type, occurred_at, data)
  select $1, 'lead.updated', now(), '{"lead_id": 1}' from generate_series(1, 1000)`;

const make_due = `
  update accounts set retention_due_at = now() - interval '1 hour', retention_events_days = 3650
  where account_id = $1`;
