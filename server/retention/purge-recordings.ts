// Deletes recordings whose retention period has ended, from the nodes that made them. They are marked as
// deleted afterwards: a crash in between repeats the deletion.
import { deleteRecordings, recordingName } from "../calls/audio/delete-recordings.ts";
import type { App } from "../engine/app.ts";
import { statement, type Database } from "../lib/database/database.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../lib/database/database-errors.ts";
import { nextCheckMs, findDueAccounts, type DueAccount } from "./due-accounts.ts";

/** Recordings of one account per iteration. */
const recordings_max = 100;
/** Expired recordings, and as many messages, among which one statement looks for those that can be deleted. */
const window_rows = 2_000;
/** How long an iteration looks for them behind those of silent nodes. */
const search_ms_max = 5_000;
/** How long a node that did not respond is skipped, so that it does not delay other accounts again. */
const silent_ms = 600_000;
/** How long a recording that its node refused to delete is skipped, so that it does not delay the others. */
const refused_ms = 86_400_000;
/** Skipped recordings, at most; beyond, the oldest are tried again. */
const refused_max = 10_000;

type Recording = {
  readonly call_id: number;
  readonly node_id: number;
  /** The name of a voice message; null for the recording of the call. */
  readonly message: string | null;
};

/**
 * Deletes expired recordings of each due account, a batch each, and returns how many it deleted. Recordings on
 * a node that does not respond are retried minutes later, those that their node refuses to delete a day later. Any
 * number of processes may run it.
 */
export async function purgeRecordings(app: App, stopping: AbortSignal): Promise<number> {
  let purged = 0;
  for await (const account of findDueAccounts(app, "recordings")) {
    if (stopping.aborted) break;
    try {
      purged += await visit(app, account, stopping);
    } catch (err) {
      if (isDatabaseUnavailable(err) && !isOfOneStatement(err)) throw err;
      const { account_id } = account;
      app.log.error({ err, account_id }, "could not delete the account's expired recordings");
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
  const silent = silentNodes(app.db, now);
  const { found, is_last, is_past } = await findDeletable(app, account_id, stopping);
  const { gone, refused } = await deleteAtNodes(app, account_id, found, stopping);
  await markDeleted(app, account_id, gone);
  if (stopping.aborted) return gone.length;
  const again_ms = silent.size > 0 || is_past ? silent_ms : nextCheckMs(app);
  if (is_last && (found.length < recordings_max || gone.length + refused === 0))
    await postpone(app.db.pool, [account_id, due_at, again_ms, now]);
  return gone.length;
}

/**
 * Finds the next expired recordings of nodes that respond, without those that were refused; whether no others are behind
 * them; and whether the search began past some. Reads what cannot be deleted once in ten minutes, because a silent node may
 * have any number.
 */
async function findDeletable(
  app: App,
  accountId: number,
  stopping: AbortSignal,
): Promise<{ found: Recording[]; is_last: boolean; is_past: boolean }> {
  const now = app.clock.now();
  const silent = silentNodes(app.db, now);
  const skipped = skippedRecordings(app.db, now);
  const positions = remembered(reached, app.db, now, ({ until_ms }) => until_ms);
  const until_ms = performance.now() + search_ms_max;
  for (;;) {
    const position = positions.get(accountId) ?? {
      until_ms: now.getTime() + silent_ms,
      call: first_position,
      message: first_position,
    };
    const { call, message } = position;
    const values = [accountId, now, call.at, call.id, message.at, message.id, window_rows];
    const expired = await findExpired(app.db.pool, values);
    const found = expired
      .filter(({ node_id }) => !silent.has(node_id))
      .filter((recording) => !skipped.has(nameOf(accountId, recording)))
      .slice(0, recordings_max);
    const [messages, calls] = [true, false].map((isMessage) =>
      expired.filter((each) => (each.message !== null) === isMessage),
    ) as [Expired[], Expired[]];
    const is_last = calls.length < window_rows && messages.length < window_rows;
    const is_past = positions.has(accountId);
    if (found.length > 0 || is_last) return { found, is_last, is_past };
    positions.set(accountId, {
      ...position,
      call: positionAfter(calls, call),
      message: positionAfter(messages, message),
    });
    if (stopping.aborted || performance.now() > until_ms) return { found, is_last, is_past: true };
  }
}

/** `at` is PostgreSQL's text, precise to the microsecond; `id` is that of the call. */
type Position = { readonly at: string; readonly id: number };

const first_position: Position = { at: "-infinity", id: 0 };

function positionAfter(read: readonly Expired[], before: Position): Position {
  const last = read.at(-1);
  return last ? { at: last.at, id: last.call_id } : before;
}

type Expired = Recording & { readonly at: string };

const nameOf = (accountId: number, { call_id, message }: Recording) =>
  message ?? recordingName(accountId, call_id);

/**
 * Deletes recordings from all nodes concurrently, and from each node one after the other. Returns the deleted ones and how
 * many were refused.
 */
async function deleteAtNodes(
  app: App,
  accountId: number,
  found: readonly Recording[],
  stopping: AbortSignal,
): Promise<{ gone: Recording[]; refused: number }> {
  const nodes = [...Map.groupBy(found, ({ node_id }) => node_id)];
  const done = await Promise.all(
    nodes.map(async ([node_id, recordings]) => {
      const named = new Map(recordings.map((each) => [nameOf(accountId, each), each]));
      const { deleted, refused, failure } = await deleteRecordings(
        app,
        node_id,
        [...named.keys()],
        stopping,
      );
      const now = app.clock.now();
      for (const { name, reason } of refused) {
        const about = { account_id: accountId, subject_id: named.get(name)!.call_id };
        app.log.warn(about, `voice node refused to delete a call's recording: ${reason}`);
        skip(app.db, name, now);
      }
      if (failure !== null) {
        app.log.warn({ subject_id: node_id }, `voice node could not delete recordings: ${failure}`);
        silentNodes(app.db, now).set(node_id, now.getTime() + silent_ms);
      }
      return { gone: deleted.map((name) => named.get(name)!), refused: refused.length };
    }),
  );
  return {
    gone: done.flatMap(({ gone }) => gone),
    refused: done.reduce((sum, { refused }) => sum + refused, 0),
  };
}

async function markDeleted(
  app: Pick<App, "db">,
  accountId: number,
  gone: readonly Recording[],
): Promise<void> {
  const calls = gone.filter(({ message }) => message === null).map(({ call_id }) => call_id);
  const messages = gone.filter(({ message }) => message !== null);
  if (calls.length > 0)
    await app.db.query.transaction().execute(async (tx) => {
      const marked = await markCalls(tx, [accountId, calls]);
      // In statements of their own: the one that waits for the CRM's lock on a call does not see its entry. Once for each
      // lead, because each of its calls would read all its entries.
      for (const [lead_id, of] of Map.groupBy(marked, (call) => call.lead_id))
        if (lead_id !== null) await removeUrls(tx, [accountId, lead_id, of.map(({ id }) => id)]);
    });
  if (messages.length > 0)
    await markMessages(app.db.pool, [
      accountId,
      messages.map(({ call_id }) => call_id),
      messages.map(({ message }) => message),
    ]);
}

/** For each database, until when each node that did not respond is skipped, by the business clock. */
const silences = new WeakMap<Database, Map<number, number>>();
/** For each database, until when each recording that was refused is skipped, by its name. */
const refusals = new WeakMap<Database, Map<string, number>>();

/**
 * For each database, the positions behind what cannot be deleted, by account, until when they are kept: afterwards the
 * search begins at the oldest recording again.
 */
const reached = new WeakMap<
  Database,
  Map<number, { until_ms: number; call: Position; message: Position }>
>();

const itself = (until_ms: number) => until_ms;
const silentNodes = (db: Database, now: Date) => remembered(silences, db, now, itself);
const skippedRecordings = (db: Database, now: Date) => remembered(refusals, db, now, itself);

/** Returns a database's entries without those whose time has passed. */
function remembered<Key, Value>(
  of: WeakMap<Database, Map<Key, Value>>,
  db: Database,
  now: Date,
  untilOf: (value: Value) => number,
): Map<Key, Value> {
  let found = of.get(db);
  if (!found) of.set(db, (found = new Map<Key, Value>()));
  for (const [key, value] of found) if (untilOf(value) <= now.getTime()) found.delete(key);
  return found;
}

function skip(db: Database, name: string, now: Date): void {
  const skipped = skippedRecordings(db, now);
  skipped.set(name, now.getTime() + refused_ms);
  const [oldest] = skipped.keys();
  if (skipped.size > refused_max) skipped.delete(oldest!);
}

// A recording is deleted at the latest with its call. The rows of each kind are in the order of their position.
const findExpired = statement<Expired>(`
  with kept as materialized (
    select $2::timestamptz - least(a.retention_recordings_days, a.retention_calls_days) * interval '24 hours' as until
    from accounts a where a.account_id = $1
  )
  (select c.id as call_id, c.node_id, null as message, c.ended_at::text as at
    from kept k cross join lateral (
      select c.id, c.node_id, c.ended_at from calls c
      where c.account_id = $1 and c.stage = 'ended' and c.recording_state in ('ready', 'failed') and c.ended_at < k.until
        and (c.ended_at, c.id) > ($3::text::timestamptz, $4)
      order by c.ended_at, c.id limit $7) c
    where k.until is not null)
  union all
  (select m.call_id, m.node_id, m.recording, m.at::text
    from kept k cross join lateral (
      select m.call_id, m.recording, m.at, c.node_id from call_messages m
      join calls c on c.account_id = $1 and c.id = m.call_id
      where m.account_id = $1 and m.state <> 'deleted' and m.at < k.until and c.stage = 'ended'
        and (m.at, m.call_id) > ($5::text::timestamptz, $6)
      order by m.at, m.call_id limit $7) m
    where k.until is not null)`);

const markCalls = statement<{ id: number; lead_id: number | null }>(`
  update calls set recording_state = 'deleted'
  where account_id = $1 and id = any ($2) and recording_state in ('ready', 'failed')
  returning id, lead_id`);

const removeUrls = statement(`
  update lead_timeline t set data = (t.data::jsonb - 'recordingUrl')::json
  where t.account_id = $1 and t.lead_id = $2 and t.kind = 'call' and t.data ->> 'callId' = any ($3::text[])`);

const markMessages = statement(`
  update call_messages set state = 'deleted'
  where account_id = $1 and call_id = any ($2) and recording = any ($3)`);

// Unless the settings were changed meanwhile. Records the oldest recording that is left, as on a node that is down.
const postpone = statement(`
  update accounts a set recordings_due_at = $4::timestamptz + $3 * interval '1 ms', recordings_overdue_since = (
    with kept as materialized (
      select least(a.retention_recordings_days, a.retention_calls_days) * interval '24 hours' as period
    )
    select min(left_over.at) + k.period from kept k cross join lateral (
      (select c.ended_at as at from calls c
        where c.account_id = $1 and c.stage = 'ended' and c.recording_state in ('ready', 'failed')
          and c.ended_at < $4::timestamptz - k.period
        order by c.ended_at limit 1)
      union all
      (select m.at from call_messages m
        join calls c on c.account_id = $1 and c.id = m.call_id
        where m.account_id = $1 and m.state <> 'deleted' and m.at < $4::timestamptz - k.period and c.stage = 'ended'
        order by m.at limit 1)) left_over
    group by k.period)
  where a.account_id = $1 and a.recordings_due_at = $2::text::timestamptz`);
