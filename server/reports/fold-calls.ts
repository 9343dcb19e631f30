// Folds the calls of past days into counts by type, campaign, caller ID and agent, from which reports are read.
import { sql } from "kysely";
import type { App } from "../engine/app.ts";
import { clientTransaction } from "../lib/database/client-transaction.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../lib/database/database-errors.ts";
import { statement, type Tx } from "../lib/database/database.ts";
import { callDimensions, countCalls, counted_columns } from "./count-calls.ts";
import type { ReportRange } from "./report-range.ts";

const hour_ms = 3_600_000;
/** After a day's end, for clocks that differ and transactions that are open. */
const margin_ms = hour_ms;
/** Between two visits of an account; shorter while calls of a past day have not ended. */
const visit_ms = 6 * hour_ms;
const revisit_ms = hour_ms;
const accounts_max = 100;
/** Enough for a day of millions of calls. */
const seconds_max = 60;

type Fold = Pick<App, "db" | "clock">;

/**
 * Folds the days of each account that is due, and returns the number of days folded. Any number of processes may run
 * it: each account is locked by one at a time.
 */
export async function foldDueCalls(
  app: Fold & Pick<App, "log">,
  stopping: AbortSignal,
): Promise<number> {
  let folded = 0;
  const due = await findDue(app.db.pool, [app.clock.now(), accounts_max]);
  for (const { account_id } of due) {
    if (stopping.aborted) break;
    try {
      folded += await foldCalls(app, account_id, stopping);
    } catch (err) {
      if (isDatabaseUnavailable(err) && !isOfOneStatement(err)) throw err;
      app.log.error({ err, account_id }, "could not fold the account's calls for reports");
    }
  }
  return folded;
}

/**
 * Folds every day of the account that is over and whose calls have ended, the newest first, one in each transaction,
 * and returns how many. Then the account is due again in some hours.
 */
export async function foldCalls(
  app: Fold,
  account_id: number,
  stopping: AbortSignal,
): Promise<number> {
  const now = app.clock.now();
  const dueAfter = (ms: number) => [account_id, new Date(now.getTime() + ms)];
  // Before the first day, because a day that is unfolded meanwhile makes the account due again.
  await postpone(app.db.pool, dueAfter(visit_ms));
  let folded = 0;
  let some_left = false;
  let day = await foldDayBefore(app, account_id, now, now);
  while (day) {
    if (day.is_folded) folded++;
    some_left ||= !day.is_folded || stopping.aborted;
    if (stopping.aborted) break;
    day = await foldDayBefore(app, account_id, day.from, now);
  }
  if (some_left) await advance(app.db.pool, dueAfter(revisit_ms));
  return folded;
}

/** Deletes the counts of the account's calls and folds its days again. Returns how many days are folded. */
export async function rebuildCallCounts(app: Fold, account_id: number): Promise<number> {
  await deleteDays(app.db.pool, [account_id]);
  return foldCalls(app, account_id, new AbortController().signal);
}

type Day = ReportRange & { readonly is_folded: boolean };

/** Folds the newest day before the time that can be folded; null if there is none. */
async function foldDayBefore(
  { db }: Fold,
  account_id: number,
  before: Date,
  now: Date,
): Promise<Day | null> {
  const until = new Date(Math.min(before.getTime(), now.getTime() - margin_ms));
  const values = [account_id, now, until];
  // Most accounts have none, and need no transaction.
  if ((await findDay(db.pool, values)).length === 0) return null;
  return clientTransaction(db, seconds_max, async (tx) => {
    // Nothing changes the calls of a day while it is folded (unfold_calls).
    await lockAccount(tx, [account_id]);
    const [day] = await findDay(tx, values);
    if (!day) return null;
    const range = { from: day.begins_at, to: day.ends_at };
    return { ...range, is_folded: await foldDay(tx, account_id, range) };
  });
}

/** Returns whether the day was folded: false if some of its calls have not ended. */
async function foldDay(tx: Tx, account_id: number, { from, to }: ReportRange): Promise<boolean> {
  // A call that is scheduled far ahead keeps its day open for long: counting the others each time would be in vain.
  if ((await findOpenCall(tx, [account_id, from, to])).length > 0) return false;
  // Days of another time zone that overlap this one.
  await sql`delete from call_report_days
    where account_id = ${account_id} and begins_at < ${to} and ends_at > ${from}`.execute(tx);
  await sql`insert into call_report_days (account_id, begins_at, ends_at)
    values (${account_id}, ${from}, ${to})`.execute(tx);
  const dimensions = Object.keys(callDimensions);
  const columns = counted_columns.filter((column) => column !== "in_progress");
  const names = sql.join([...dimensions, ...columns].map((name) => sql.ref(name)));
  const values = sql.join([
    ...dimensions.map((name) => sql.ref(name)),
    ...columns.map((name) => sql`coalesce(${sql.ref(name)}, 0)`),
  ]);
  const selection = { account_id, from, to };
  const { rows } = await sql<{ open: number }>`
    with ${countCalls("day", selection, callDimensions, true)},
    stored as (
      insert into call_report_counts (account_id, begins_at, place, ${names})
      select ${account_id}, ${from}, row_number() over (), ${values} from day
    )
    select coalesce(sum(in_progress), 0)::int as open from day`.execute(tx);
  const is_over = rows[0]!.open === 0;
  if (!is_over)
    await sql`delete from call_report_days
      where account_id = ${account_id} and begins_at = ${from}`.execute(tx);
  return is_over;
}

const findDue = statement<{ account_id: number }>(`
  select account_id from accounts where report_due_at <= $1 order by report_due_at, account_id limit $2`);

const postpone = statement("update accounts set report_due_at = $2 where account_id = $1");

const advance = statement(
  "update accounts set report_due_at = least(report_due_at, $2::timestamptz) where account_id = $1",
);

// By status, because an index finds it at once.
const findOpenCall = statement(`
  select from calls
  where account_id = $1 and status in ('queued', 'ringing', 'in-progress') and queued_at >= $2 and queued_at < $3
    and stage <> 'ended'
  limit 1`);

const lockAccount = statement("select from accounts where account_id = $1 for no key update");

/** Days whose calls retention has begun to delete are not folded again. */
const findDay = statement<{ begins_at: Date; ends_at: Date }>(`
  select d.begins_at, d.ends_at
  from accounts a
  cross join (select min(c.queued_at) as first from calls c where c.account_id = $1) c
  cross join lateral generate_series(
    date_trunc('day', c.first at time zone a.time_zone), $3::timestamptz at time zone a.time_zone,
    interval '1 day') day
  cross join lateral (
    select day at time zone a.time_zone as begins_at,
      (day + interval '1 day') at time zone a.time_zone as ends_at) d
  where a.account_id = $1 and d.ends_at <= $3
    and (a.retention_calls_days is null
      or d.begins_at >= $2::timestamptz - a.retention_calls_days * interval '24 hours')
    and not exists (
      select from call_report_days f
      where f.account_id = $1 and f.begins_at = d.begins_at and f.ends_at = d.ends_at)
  order by d.begins_at desc limit 1`);

const deleteDays = statement("delete from call_report_days where account_id = $1");
