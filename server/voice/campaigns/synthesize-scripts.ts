// Synthesizes the scripts of obd_smartvoice campaigns with each recipient's variables, ahead of the calls.
import { mayCallCustomerAt, type CallingWindow } from "../../accounts/accounts/calling-window.ts";
import { openFullStorages, wasStorageFull } from "../../accounts/accounts/storage.ts";
import { fillText } from "../../calls/state-machine/script-text.ts";
import { synthesizeAudio } from "../../calls/audio/audio-files.ts";
import { isRejected } from "../../calls/audio/prepare-speech.ts";
import type { VoicePlan } from "../../calls/state-machine/voice-plan.ts";
import { SpeechError, type SpeechDriver } from "../../drivers/speech/driver.ts";
import { openAccountPlaces, type AccountPlaces } from "../../engine/account-places.ts";
import type { App } from "../../engine/app.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { splitTimeZones } from "../../lib/phone-time-zones/phone-time-zones.ts";
import { countMovedRecipients } from "./count-moved-recipients.ts";

/**
 * Most due recipients of a campaign and a list of time zones whose script is synthesized ahead: seconds of dialing.
 * Those of zones where it is night do not count for others, because the dialer does not call them.
 */
const ahead_max = 500;
/** How long before its start synthesis of a scheduled campaign begins. */
const early_ms = 600_000;

/** When scripts may have to be synthesized: see poll-work.ts. */
export const open_scripts = [
  `from voice_campaigns v
   where v.finished_at is null and v.call_type = 'obd_smartvoice' and (v.state = 'running'
     or v.state = 'scheduled' and v.scheduled_at <= $1::timestamptz + interval '${early_ms} ms') and ${isUnfrozen("v")}
   order by v.account_id`,
];

const batch_rows = 8;
/** Workers choose a random batch among this many recipients; two that choose the same one only lose time. */
const window_rows = 256;
/** A text that fails this often while TTS works for another text is considered invalid. */
const failures_max = 3;

/**
 * Runs one iteration: synthesizes one batch of each account with campaigns that dial soon, and returns how many
 * recipients are now waiting or failed. Skips the accounts that have all their places. A recipient whose text
 * cannot be synthesized fails; while TTS is unavailable or the account's storage is full, all remain
 * `synthesizing`.
 */
export async function synthesizeScripts(
  app: App,
  stopping: AbortSignal,
  places: AccountPlaces = openAccountPlaces(),
  full_storages = openFullStorages(),
): Promise<number> {
  const now = app.clock.now();
  const soon = new Date(now.getTime() + early_ms);
  const campaigns = await findCampaignsToSynthesize(app.db.pool, [soon]);
  const accounts = Map.groupBy(campaigns, ({ account_id }) => account_id);
  let moved = 0;
  for (const [account_id, own] of accounts) {
    if (stopping.aborted) break;
    if (places.isFull(account_id)) continue;
    places.add(account_id, 1);
    try {
      const next = await findNext(app, own, [now, soon]);
      if (!next || (await wasStorageFull(app.db.pool, full_storages, account_id))) continue;
      moved += await synthesizeBatch(app, next);
    } finally {
      places.add(account_id, -1);
    }
  }
  return moved;
}

/**
 * Returns the account's test call, or any of its campaigns, with a list of zones that has too few recipients ahead:
 * one that may be called at one of these times, if there is any.
 */
async function findNext(
  app: App,
  campaigns: readonly Campaign[],
  [now, soon]: readonly [Date, Date],
): Promise<CampaignZones | undefined> {
  const { account_id } = campaigns[0]!;
  const ids = campaigns.map(({ id }) => id);
  const values = [account_id, ids, now, ahead_max];
  const zones = Map.groupBy(await findZonesBehind(app.db.pool, values), ({ id }) => id);
  const behind = campaigns.flatMap((campaign) =>
    (zones.get(campaign.id) ?? []).map(({ time_zones }) => ({ ...campaign, time_zones })),
  );
  const isOpen = (one: CampaignZones) =>
    [now, soon].some((at) => mayCallCustomerAt(one, splitTimeZones(one.time_zones), at));
  const open = behind.filter(isOpen);
  const next = open.length > 0 ? open : behind;
  return next.find(({ is_test }) => is_test) ?? next[Math.floor(app.random() * next.length)];
}

type Campaign = CallingWindow & {
  readonly account_id: number;
  readonly id: number;
  readonly trunk_id: number;
  readonly is_test: boolean;
  readonly plan: VoicePlan;
};
/** A campaign with one of its recipients' lists of time zones, joined by `&`. */
type CampaignZones = Campaign & { readonly time_zones: string };
type Recipient = {
  readonly id: number;
  readonly variables: Readonly<Record<string, string>> | null;
};
/** The audio of a text (null: it cannot be synthesized), or `unavailable` when TTS does not work at the moment. */
type Synthesis = { readonly audio: string | null } | "unavailable";

async function synthesizeBatch(app: App, campaign: CampaignZones): Promise<number> {
  const { content } = campaign.plan;
  if (content.call_type !== "obd_smartvoice") return 0;
  const { script, language } = content;
  const values = [campaign.account_id, campaign.id, campaign.time_zones, window_rows];
  const next = await findSynthesizing(app.db.pool, values);
  const first = Math.floor(app.random() * Math.ceil(next.length / batch_rows)) * batch_rows;
  const batch = next.slice(first, first + batch_rows);
  const texts = new Map(batch.map(({ id, variables }) => [id, textOf(script, variables)]));
  const results = new Map<string | null, Synthesis>([[null, { audio: null }]]);
  await Promise.all(
    [...new Set(texts.values())].map(async (text) => {
      if (text !== null) results.set(text, await synthesizeText(app, campaign, { text, language }));
    }),
  );
  const done = [...texts].flatMap(([id, text]) => {
    const result = results.get(text)!;
    return result === "unavailable" ? [] : [{ id, audio: result.audio }];
  });
  if (done.length === 0) return 0;
  const { waiting, failed } = await app.db.query
    .transaction()
    .execute((tx) => moveSynthesized(tx, campaign, done, app.clock.now()));
  if (waiting > 0) app.notifications.send("voice_work", String(campaign.trunk_id));
  return waiting + failed;
}

/** Returns null if a variable has no value. */
function textOf(script: string, variables: Recipient["variables"]): string | null {
  const { text, missing } = fillText(script, variables ?? {});
  return missing.length > 0 ? null : text;
}

/** Failures of each text in this process, by TTS driver; a success removes the text. */
const failures = new WeakMap<SpeechDriver, Map<string, number>>();
const failing_texts_max = 10_000;

async function synthesizeText(
  app: App,
  { account_id, id }: Campaign,
  utterance: { text: string; language: string },
): Promise<Synthesis> {
  let failed = failures.get(app.speech);
  if (!failed) failures.set(app.speech, (failed = new Map<string, number>()));
  const key = JSON.stringify(utterance);
  try {
    const { name } = await synthesizeAudio(app, account_id, utterance);
    failed.delete(key);
    return { audio: name };
  } catch (err) {
    // The TTS queue is full.
    if (err instanceof Refusal) return "unavailable";
    if (!(err instanceof SpeechError)) throw err;
    if (err.failure === "rejected") return { audio: null };
    app.log.warn({ err, account_id, campaign_id: id }, "could not synthesize a script");
    const times = (failed.get(key) ?? 0) + 1;
    if (failed.size < failing_texts_max) failed.set(key, times);
    if (times < failures_max) return "unavailable";
    failed.delete(key);
    return (await isRejected(app, account_id, utterance)) ? { audio: null } : "unavailable";
  }
}

/** Moves recipients in id order to waiting or failed; moves none if the campaign was cancelled meanwhile. */
async function moveSynthesized(
  tx: Tx,
  { account_id, id }: Campaign,
  done: readonly { readonly id: number; readonly audio: string | null }[],
  now: Date,
): Promise<{ waiting: number; failed: number }> {
  const ids = done.map((recipient) => recipient.id);
  const audio_files = done.map(({ audio }) => audio);
  const [moved] = await moveRecipients(tx, [account_id, id, ids, audio_files, now]);
  const { waiting, failed } = moved!;
  for (const [to, n] of [
    ["waiting", waiting],
    ["failed", failed],
  ] as const)
    if (n > 0)
      await countMovedRecipients(tx, { account_id, id }, { from: "synthesizing", to, count: n });
  return { waiting, failed };
}

const findCampaignsToSynthesize = statement<Campaign>(`
  select v.account_id, v.id, v.trunk_id, v.is_test, v.plan,
    a.time_zone, a.night_calling, a.calling_from, a.calling_to
  from voice_campaigns v
  join accounts a on a.account_id = v.account_id
  where v.finished_at is null and v.call_type = 'obd_smartvoice' and a.frozen_at is null
    and (v.state = 'running' or (v.state = 'scheduled' and v.scheduled_at <= $1))
    and exists (
      select from voice_recipients r
      where r.account_id = v.account_id and r.campaign_id = v.id and r.state = 'synthesizing')
  order by v.is_test desc, v.account_id, v.id`);

// Recipients that wait for a later attempt do not count against $4, the most that are synthesized ahead.
const findZonesBehind = statement<{ id: number; time_zones: string }>(`
  select v.id, z.time_zones
  from voice_campaigns v
  cross join unnest(v.time_zones) z (time_zones)
  where v.account_id = $1 and v.id = any ($2)
    and exists (
      select from voice_recipients r
      where r.account_id = $1 and r.campaign_id = v.id and r.state = 'synthesizing'
        and r.time_zones = z.time_zones)
    and (select count(*) from (
      select from (values (0), (1), (2)) k (priority)
      cross join lateral (
        select from voice_recipients r
        where r.account_id = $1 and r.campaign_id = v.id and r.state = 'waiting'
          and r.time_zones = z.time_zones and r.priority = k.priority
          and r.due_at <= greatest($3, v.scheduled_at)
        limit $4) r
      limit $4) w) < $4`);

const findSynthesizing = statement<Recipient>(`
  select r.id, r.variables from voice_recipients r
  where r.account_id = $1 and r.campaign_id = $2 and r.state = 'synthesizing' and r.time_zones = $3
  order by r.id limit $4`);

const moveRecipients = statement<{ waiting: number; failed: number }>(`
  with campaign as materialized (
    select v.id from voice_campaigns v
    where v.account_id = $1 and v.id = $2 and v.state in ('scheduled', 'running')
    for share
  ), next as materialized (
    select r.id, s.audio_name
    from unnest($3::int[], $4::text[]) as s (id, audio_name)
    join voice_recipients r on r.account_id = $1 and r.campaign_id = $2 and r.id = s.id
    where r.state = 'synthesizing' and exists (select from campaign)
    order by r.id
    for update of r skip locked
  ), moved as (
    update voice_recipients r set audio_name = n.audio_name,
      -- An earlier call does not say why a retried one failed.
      call_id = case when n.audio_name is not null then r.call_id end,
      state = case when n.audio_name is null then 'failed' else 'waiting' end,
      finished_at = case when n.audio_name is null then $5::timestamptz end
    from next n
    where r.account_id = $1 and r.campaign_id = $2 and r.id = n.id
    returning r.state
  )
  select count(*) filter (where m.state = 'waiting') as waiting,
    count(*) filter (where m.state = 'failed') as failed
  from moved m`);
