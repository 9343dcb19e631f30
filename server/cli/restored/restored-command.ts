import { setTimeout as wait } from "node:timers/promises";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { cancelIfQueued, endIfLive } from "../../calls/controls/hang-up-call.ts";
import {
  pauseRestoredCampaigns,
  type LostTime,
} from "../../chat/campaigns/pause-restored-campaigns.ts";
import { advanceIds, openConfirmation, readKnownDatabase } from "../../engine/database-identity.ts";
import { sql } from "kysely";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import { statement, type Database, type Tx } from "../../lib/database/database.ts";
import { parseTime } from "../../lib/parse-time.ts";
import { pauseVoiceCampaign } from "../../voice/campaigns/pause-voice-campaign.ts";
import { UsageError, type Command, type Outcome, type Words } from "../command.ts";
import type { Session } from "../session.ts";

export const restoredCommand: Command = {
  name: "restored",
  summary:
    "After a restore or failover of the database: hold what may have been sent meanwhile, then let the workers start",
  options: {
    since: {
      value: "time",
      about:
        "When the lost time began, if a node of Citus was replaced; without it, what the database knows",
    },
    until: {
      value: "time",
      about: "When the service last ran on the lost database; without it, now",
    },
    "nothing-lost": {
      about: "Hold nothing: every commit survived, as in a failover to a synchronous replica",
    },
  },
  run: restored,
};

/** What was held, over all accounts. */
type Held = {
  chat_campaigns: number;
  recipients_in_doubt: number;
  voice_campaigns: number;
  calls_cancelled: number;
  live_calls_ended: number;
  notifications_dropped: number;
};

const worker_seen_ms = 10_000;
/** Finding the recipients in doubt took 8 s in a queue of a million, with the suppressions of 115,000 to check. */
const statement_seconds = 600;
/** The clocks of several machines may differ by as much. */
const clocks_apart_ms = 5_000;

async function restored(session: Session, words: Words): Promise<Outcome> {
  const now = session.now();
  const until = readPast("until", words, now) ?? now;
  const given_since = readPast("since", words, now);
  const db = await session.migratedDatabase();
  const confirm = await openConfirmation(db);
  if (words.flag("nothing-lost")) {
    await db.query.transaction().execute((tx) => confirm(tx, now));
    return { json: { nothing_lost: true }, text: "Nothing is held. The workers start." };
  }
  const { seen_at, changed_at } = await readKnownDatabase(db);
  if (given_since !== null && given_since > seen_at)
    throw new UsageError(
      `--since must not be after ${seen_at.toISOString()}, which the database knows`,
    );
  const since = given_since ?? seen_at;
  if (until < since)
    throw new UsageError(
      `--until must not be before ${since.toISOString()}, when the lost time began`,
    );
  // An idle worker holds no lease, and records every 2 s that it runs.
  if (changed_at === null && now.getTime() - seen_at.getTime() < worker_seen_ms) throw workerRuns();
  await awaitNoLeases(db, session.config().lease_seconds);
  const held = await clientTransaction(db, statement_seconds, async (tx) => {
    await refuseLeases(tx);
    // Of a copy of the disk, which is not recognized, the IDs are not advanced yet.
    if (changed_at === null) await advanceIds(tx);
    const created_until = changed_at && new Date(changed_at.getTime() + clocks_apart_ms);
    const all = await holdEverything(tx, session, { since, until, created_until }, now);
    await confirm(tx, now);
    return all;
  });
  const lost = { since: since.toISOString(), until: until.toISOString() };
  return { json: { lost, held }, text: describe(lost, held) };
}

function readPast(name: "since" | "until", words: Words, now: Date): Date | null {
  const text = words.option(name);
  if (text === undefined) return null;
  const time = parseTime(text, "UTC");
  if (typeof time === "string") throw new UsageError(`--${name} ${time}`);
  if (time > now) throw new UsageError(`--${name} must not be in the future`);
  return time;
}

const findLeases = statement<{ name: string }>(
  "select name from leases where holder is not null and expires_at > clock_timestamp() limit 1",
);

/** Those of the lost time expire by themselves. */
async function awaitNoLeases({ pool }: Database, lease_seconds: number): Promise<void> {
  const deadline_ms = performance.now() + lease_seconds * 1_000;
  while (performance.now() < deadline_ms && (await findLeases(pool, [])).length > 0)
    await wait(200);
}

/** A sender that runs would give recipients in doubt back to the queue, so no process may have one. */
async function refuseLeases(tx: Tx): Promise<void> {
  await sql`lock table leases in exclusive mode`.execute(tx);
  if ((await findLeases(tx, [])).length > 0) throw workerRuns();
}

function workerRuns(): Error {
  return new Error("A worker runs on this database: stop every process of the service first");
}

async function holdEverything(tx: Tx, session: Session, lost: LostTime, now: Date): Promise<Held> {
  const { since, until } = lost;
  const total: Held = {
    chat_campaigns: 0,
    recipients_in_doubt: 0,
    voice_campaigns: 0,
    calls_cancelled: 0,
    live_calls_ended: 0,
    notifications_dropped: 0,
  };
  const accounts = await tx
    .selectFrom("accounts")
    .select("account_id")
    .orderBy("account_id")
    .execute();
  for (const { account_id } of accounts) {
    const { actor } = operatorOf(account_id, session.request_id);
    const held = await holdOfAccount(tx, actor, lost, now);
    if (Object.values(held).every((count) => count === 0)) continue;
    for (const name of Object.keys(total) as (keyof Held)[]) total[name] += held[name];
    const detail = { since, until, ...held };
    await recordAudit(tx, actor, {
      at: now,
      action: "database.restored",
      subject_id: null,
      detail,
    });
  }
  return total;
}

async function holdOfAccount(tx: Tx, actor: Actor, lost: LostTime, now: Date): Promise<Held> {
  const { account_id } = actor;
  const chat = await pauseRestoredCampaigns(tx, actor, lost, now);
  const voice = await findVoiceCampaigns(tx, [account_id, lost.created_until]);
  const detail =
    `The database was restored and knows nothing of ${lost.since.toISOString()} to ${lost.until.toISOString()}: ` +
    "people who were called in that time would be called again";
  for (const { id } of voice) await pauseVoiceCampaign(tx, actor, id, now, detail);
  const calls = await requeueClaimedCalls(tx, [account_id, lost.until, lost.created_until]);
  for (const { id } of calls)
    await cancelIfQueued(tx, { account_id, id }, now, { reason: "too_late" });
  let live_calls_ended = 0;
  const live = await findLiveCalls(tx, [account_id]);
  for (const { id } of live)
    if (await endIfLive(tx, { account_id, id }, now)) live_calls_ended += 1;
  const notices = await dropNotifications(tx, [account_id]);
  const notified = [...calls, ...live, ...notices].map(({ campaign_id }) => campaign_id);
  await stopNotifications(tx, [account_id, notified]);
  return {
    chat_campaigns: chat.campaigns,
    recipients_in_doubt: chat.recipients_in_doubt,
    voice_campaigns: voice.length,
    calls_cancelled: calls.length,
    live_calls_ended,
    notifications_dropped: notices.length,
  };
}

const findVoiceCampaigns = statement<{ id: number }>(`
  select id from voice_campaigns
  where account_id = $1 and finished_at is null and state in ('scheduled', 'running')
    and ($2::timestamptz is null or created_at <= $2)
  order by id`);

// Due calls, also those that were claimed and not dialed yet. Later ones cannot have been placed.
const requeueClaimedCalls = statement<{ id: number; campaign_id: number }>(`
  update calls set stage = 'queued'
  where account_id = $1 and due_at <= $2 and (stage = 'queued' or stage = 'agent' and initiated_at is null)
    and ($3::timestamptz is null or queued_at <= $3)
  returning id, campaign_id`);

// The switch has continued them, with a node leader in the lost time and without one since. Reconciled as usual, one that
// an agent did not answer then would ring the next agent now.
const findLiveCalls = statement<{ id: number; campaign_id: number }>(`
  select id, campaign_id from calls
  where account_id = $1 and stage not in ('queued', 'ended') order by id`);

// They accompany calls that were placed before.
const dropNotifications = statement<{ campaign_id: number }>(`
  delete from jobs where account_id = $1 and kind = 'chat.notify_call'
  returning (payload ->> 'campaign_id')::bigint as campaign_id`);

// A retry of the call would send it again: the reservation that prevents this may be among what was lost. A call that had
// ended without being placed may have been retried in the lost time.
const stopNotifications = statement(`
  update click_to_calls p set enable_chat = false
  where p.account_id = $1 and p.enable_chat and (p.campaign_id = any ($2::bigint[]) or not exists (
    select from calls c where c.account_id = $1 and c.campaign_id = p.campaign_id
      and (c.initiated_at is not null or c.stage <> 'ended')))`);

function describe(lost: { since: string; until: string }, held: Held): string {
  return [
    `The database knows nothing of ${lost.since} to ${lost.until}. The workers start, and hold until a person decides:`,
    `  ${held.chat_campaigns} chat campaigns, paused; their ${held.recipients_in_doubt} recipients who may have had a message in that time are not sent it again`,
    `  ${held.voice_campaigns} voice campaigns, paused`,
    `  ${held.calls_cancelled} queued calls, ended as too late, and ${held.live_calls_ended} live calls, ended as lost; ${held.notifications_dropped} chat notifications of calls, dropped`,
    'Resume or cancel each campaign. docs/guides/operation.md, "After a restore", says what else was lost.',
  ].join("\n");
}
