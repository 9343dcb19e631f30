// Texts become clips, each once, and scripts are spoken ahead of the calls, whoever speaks them.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import {
  findAudio,
  purgeUnusedAudio,
  synthesizeAudio,
  storeAudio,
} from "../../calls/audio/audio-files.ts";
import { SpeechError, type SpeechDriver } from "../../drivers/speech/driver.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { tone, toneSpeech } from "../../../test/support/tone-speech.ts";
import {
  makeVoiceCampaign,
  makeVoiceFile,
  type RecipientToMake,
  type TestVoiceCampaign,
} from "../../../test/support/voice-factory.ts";
import { synthesizeScripts } from "./synthesize-scripts.ts";

let api: TestApi;
let account: TestAccount;
let spoken: string[] = [];
/** What the speaker makes of a text: it fails, or is refused. */
let faults: Record<string, "rejected" | "failed"> = {};
let isAway = false;

const speech: SpeechDriver = {
  ...toneSpeech,
  async speak(utterance) {
    const fault = isAway ? "failed" : faults[utterance.text];
    if (fault) throw new SpeechError(fault, "not this one");
    spoken.push(utterance.text);
    return toneSpeech.speak(utterance);
  },
};

before(async () => {
  api = await startApi({ speech });
});
after(() => api.close());
beforeEach(async () => {
  // An account each: nothing of the tests before is in the way.
  account = await makeAccount(api.app);
  await api.app.db.pool.query(
    "update voice_campaigns set finished_at = now(), state = 'cancelled'",
  );
  [spoken, faults, isAway] = [[], {}, false];
});

const speakTurn = () => synthesizeScripts(api.app, new AbortController().signal);
const en = (text: string) => ({ text, language: "en" });

async function audioFilesOf(): Promise<string[]> {
  const { rows } = await api.app.db.pool.query<{ name: string }>(
    "select name from voice_audio where account_id = $1 order by name",
    [account.account_id],
  );
  return rows.map(({ name }) => name);
}

/** A running smartvoice campaign that says hello to each name; null: to somebody without one. */
function campaignOf(
  names: readonly (string | null)[],
  campaign: Record<string, unknown> = {},
): Promise<TestVoiceCampaign> {
  const recipients = names.map((name): RecipientToMake => ({
    state: "synthesizing",
    variables: JSON.stringify(name === null ? {} : { name }),
  }));
  return makeVoiceCampaign(api.app, account, {
    campaign: { call_type: "obd_smartvoice", ...campaign },
    recipients,
  });
}

/** The states of its recipients in their order; fails unless the counts are the same. */
async function statesOf({ id }: TestVoiceCampaign): Promise<string[]> {
  const { rows } = await api.app.db.pool.query<{ state: string; audio_name: string | null }>(
    `select state, audio_name from voice_recipients
     where account_id = $1 and campaign_id = $2 order by id`,
    [account.account_id, id],
  );
  const counts = await api.app.db.pool.query(
    `select sum(synthesizing)::int as synthesizing, sum(waiting)::int as waiting, sum(failed)::int as failed
     from voice_counts where account_id = $1 and campaign_id = $2`,
    [account.account_id, id],
  );
  const states = rows.map(({ state }) => state);
  const count = (state: string) => states.filter((one) => one === state).length;
  assert.deepEqual(counts.rows, [
    { synthesizing: count("synthesizing"), waiting: count("waiting"), failed: count("failed") },
  ]);
  for (const { state, audio_name } of rows) assert.equal(audio_name !== null, state === "waiting");
  return states;
}

async function speakAll(): Promise<void> {
  while ((await speakTurn()) > 0);
}

test("a text is spoken once, however many ask for it at the same time, and kept for the account alone", async () => {
  const { account_id } = account;
  const asked = await Promise.all(
    Array.from({ length: 20 }, () => synthesizeAudio(api.app, account_id, en("Hello"))),
  );
  assert.deepEqual(spoken, ["Hello"]);
  const [{ name, duration_ms, read }] = asked as [(typeof asked)[number]];
  assert.ok(asked.every((audio) => audio.name === name));
  assert.match(name, /^[0-9a-f]{64}$/);
  assert.equal(duration_ms, 100);
  assert.deepEqual(await read(), tone(100));
  const hindi = await synthesizeAudio(api.app, account_id, { text: "Hello", language: "hi" });
  assert.notEqual(hindi.name, name);
  assert.equal((await findAudio(api.app.db.query, account_id, name))?.duration_ms, 100);
  const other = await makeAccount(api.app);
  assert.equal(await findAudio(api.app.db.query, other.account_id, name), null);
  await assert.rejects(synthesizeAudio(api.app, account_id, en(" ")), { failure: "rejected" });
});

test("a speaker that fails is asked again by the next, and nothing of it is kept", async () => {
  faults = { Hello: "failed" };
  const { account_id } = account;
  await assert.rejects(synthesizeAudio(api.app, account_id, en("Hello")), { failure: "failed" });
  faults = {};
  await synthesizeAudio(api.app, account_id, en("Hello"));
  assert.equal((await audioFilesOf()).length, 1);
});

test("spoken clips that nobody asked for in 30 days are forgotten, unless a file has them or a campaign may", async () => {
  const { app, clock } = api;
  const { account_id } = account;
  const day_ms = 86_400_000;
  const start = new Date("2026-03-01T12:00:00Z");
  clock.set(start);
  const [gone, filed, asked] = [
    await synthesizeAudio(app, account_id, en("gone")),
    await synthesizeAudio(app, account_id, en("filed")),
    await synthesizeAudio(app, account_id, en("asked")),
  ];
  const stored = await storeAudio(app.db.query, account_id, tone(60), start);
  await makeVoiceFile(app, account, { audio_name: filed.name, duration_ms: filed.duration_ms });
  clock.advance(25 * day_ms);
  await synthesizeAudio(app, account_id, en("asked"));
  // Of a campaign that is still open later.
  await makeVoiceCampaign(app, account, { recipients: [] });
  const needed = await synthesizeAudio(app, account_id, en("needed"));
  clock.advance(6 * day_ms);
  await purgeUnusedAudio(app);
  const kept = [filed.name, asked.name, needed.name, stored.name];
  assert.deepEqual(await audioFilesOf(), kept.toSorted());
  assert.ok(!kept.includes(gone.name));
  clock.advance(40 * day_ms);
  await purgeUnusedAudio(app);
  assert.deepEqual(await audioFilesOf(), kept.toSorted());
  await app.db.pool.query("update voice_campaigns set finished_at = now()");
  await purgeUnusedAudio(app);
  assert.deepEqual(await audioFilesOf(), [filed.name, stored.name].toSorted());
  clock.set(new Date());
});

test("each recipient of a smartvoice campaign gets their own text, distinct texts once; who has no value for it has failed", async () => {
  const notified: string[] = [];
  api.app.notifications.on("voice_work", (subject) => notified.push(subject));
  const names = Array.from({ length: 30 }, (_, i) => `N${i % 3}`);
  const campaign = await campaignOf([...names, null, " "]);
  await speakAll();
  assert.deepEqual(await statesOf(campaign), [...names.map(() => "waiting"), "failed", "failed"]);
  assert.deepEqual(spoken.toSorted(), ["Hello N0", "Hello N1", "Hello N2"]);
  const { rows } = await api.app.db.pool.query<{ first: string; audio_files: number }>(
    `select min(audio_name) as first, count(distinct audio_name)::int as audio_files
     from voice_recipients where account_id = $1 and campaign_id = $2`,
    [account.account_id, campaign.id],
  );
  assert.equal(rows[0]!.audio_files, 3);
  const audio = await findAudio(api.app.db.query, account.account_id, rows[0]!.first);
  assert.equal(audio?.duration_ms, "Hello N0".length * 20);
  await eventually(() => notified.includes(String(campaign.trunk_id)));
});

test("many who speak one campaign's scripts at the same time make each recipient wait once", async () => {
  const campaign = await campaignOf(Array.from({ length: 60 }, (_, i) => `N${i}`));
  await Promise.all(Array.from({ length: 4 }, speakAll));
  // Whoever found nothing left may have gone while others still spoke.
  await speakAll();
  assert.deepEqual(new Set(await statesOf(campaign)), new Set(["waiting"]));
});

test("a text that cannot be spoken fails alone; while nothing can be spoken, all wait", async () => {
  const campaign = await campaignOf(["Ann", "Bad", "Worse", "Bob"]);
  isAway = true;
  for (let i = 0; i < 5; i++) assert.equal(await speakTurn(), 0);
  assert.deepEqual(await statesOf(campaign), [
    "synthesizing",
    "synthesizing",
    "synthesizing",
    "synthesizing",
  ]);
  isAway = false;
  faults = { "Hello Bad": "rejected", "Hello Worse": "failed" };
  for (let i = 0; i < 5; i++) await speakTurn();
  assert.deepEqual(await statesOf(campaign), ["waiting", "failed", "failed", "waiting"]);
});

test("scripts are spoken from ten minutes before a campaign's start, no more than 500 ahead, and never of one that is over", async () => {
  const now = new Date();
  api.clock.set(now);
  const inMinutes = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  const scheduled = (at: Date) => ({ state: "scheduled", scheduled_at: at, started_at: null });
  const soon = await campaignOf(["A"], scheduled(inMinutes(9)));
  const late = await campaignOf(["B"], scheduled(inMinutes(11)));
  const over = await campaignOf(["C"], { state: "cancelled" });
  const waiting = (n: number, due_at: Date): RecipientToMake[] =>
    Array.from({ length: n }, () => ({ state: "waiting", audio_name: "0".repeat(64), due_at }));
  const full = (ahead: RecipientToMake[]) =>
    makeVoiceCampaign(api.app, account, {
      campaign: { call_type: "obd_smartvoice" },
      recipients: [...ahead, { state: "synthesizing", variables: JSON.stringify({ name: "D" }) }],
    });
  const ahead = await full(waiting(500, now));
  // They wait for another attempt: those that come now need their script.
  const retrying = await full(waiting(500, inMinutes(30)));
  await speakAll();
  assert.deepEqual(await statesOf(soon), ["waiting"]);
  assert.deepEqual(await statesOf(late), ["synthesizing"]);
  assert.deepEqual(await statesOf(over), ["synthesizing"]);
  assert.equal((await statesOf(ahead)).at(-1), "synthesizing");
  assert.equal((await statesOf(retrying)).at(-1), "waiting");
  api.clock.set(new Date());
});
