// Deletes the events of the deep account while a campaign is sent.
import { setTimeout as wait } from "node:timers/promises";
import { eventually } from "../../test/support/eventually.ts";
import type { Fixture } from "./fixture.ts";
import { createCampaign } from "./writes.ts";

export type Retention = {
  readonly events: number;
  readonly seconds: number;
  /** The longest time between two messages, before and during the deletion, in ms. */
  readonly pause_before_ms: number;
  readonly pause_ms: number;
};

const rate_per_second = 100;
const deadline_s = 3_600;

/** Lets the worker delete all events of the deep account; returns its speed and the pauses in sending. */
export async function measureRetention(
  fixture: Fixture,
  { seconds, messages }: { readonly seconds: number; readonly messages: number },
): Promise<Retention> {
  const { db } = fixture;
  const { account_id, chat_number_id } = fixture.account("deep");
  await db.query("vacuum analyze");
  await db.query("update chat_numbers set rate_per_second = $1 where account_id = $2 and id = $3", [
    rate_per_second,
    account_id,
    chat_number_id,
  ]);
  const worker = await fixture.startWorker();
  // Enough for a speed of 20,000 events a second; a request has 100,000 at most.
  const recipients = rate_per_second * (2 * seconds + 30 + messages / 20_000);
  const id = await createCampaign(fixture, "deep", Math.ceil(recipients), false);
  const count = async (where: string) => {
    const { rows } = await db.query<{ n: number }>(`select count(*)::int as n from ${where}`, [
      account_id,
    ]);
    return rows[0]!.n;
  };
  const expired = "events where account_id = $1 and occurred_at < now() - interval '1 day'";
  const events = await count(expired);
  await eventually(
    async () =>
      (await count(
        `chat_recipients where account_id = $1 and campaign_id = ${id} and state <> 'queued'`,
      )) > 0,
  );
  await wait(seconds * 1_000);
  const began = new Date();
  await db.query(
    `update accounts set retention_events_days = 1, retention_due_at = now() where account_id = $1`,
    [account_id],
  );
  let first: Date | undefined;
  await eventually(async () => {
    const { rows } = await db.query<{ has_begun: boolean; is_left: boolean }>(progress, [
      account_id,
    ]);
    if (rows[0]!.has_begun) first ??= new Date();
    return !rows[0]!.is_left;
  }, deadline_s);
  const ended = new Date();
  first ??= began;
  await worker.stop();
  const pause = async (from: Date, to: Date) => {
    const { rows } = await db.query<{ ms: number | null }>(longest_pause, [
      account_id,
      id,
      from,
      to,
    ]);
    return rows[0]!.ms ?? 0;
  };
  return {
    events,
    seconds: (ended.getTime() - first.getTime()) / 1_000,
    pause_before_ms: await pause(new Date(began.getTime() - seconds * 1_000), began),
    pause_ms: await pause(first, ended),
  };
}

// From where retention goes on, so that the question does not pass all deleted events.
const progress = `
  select a.retention_events_seq > 0 as has_begun, exists (
      select from events e
      where e.account_id = $1 and e.seq >= a.retention_events_seq and e.occurred_at < now() - interval '1 day'
    ) as is_left
  from accounts a where a.account_id = $1`;

const longest_pause = `
  select (extract(epoch from max(gap)) * 1000)::float8 as ms from (
    select dispatched_at - lag(dispatched_at) over (order by dispatched_at) as gap
    from chat_recipients
    where account_id = $1 and campaign_id = $2 and dispatched_at between $3 and $4) g`;
