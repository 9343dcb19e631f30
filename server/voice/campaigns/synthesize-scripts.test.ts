// Synthesis of texts, each once, and of scripts ahead of the calls.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { FullStorages } from "../../accounts/accounts/storage.ts";
import {
  findAudio,
  purgeUnusedAudio,
  synthesizeAudio,
  storeAudio,
} from "../../calls/audio/audio-files.ts";
import { purgeArchivedAudio } from "../../calls/audio/purge-archived-audio.ts";
import { SpeechError, type SpeechDriver, type Utterance } from "../../drivers/speech/driver.ts";
import { Refusal } from "../../lib/errors.ts";
import { openSlots } from "../../lib/slots.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { openStatementsRead } from "../../../test/support/statements-read.ts";
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
let synthesized: string[] = [];
/** Texts whose synthesis fails or is rejected. */
let failures: Record<string, "rejected" | "failed"> = {};
let isUnavailable = false;

const speech: SpeechDriver = {
  ...toneSpeech,
  async synthesize(utterance) {
    const failure = isUnavailable ? "failed" : failures[utterance.text];
    if (failure) throw new SpeechError(failure, "not this text");
    synthesized.push(utterance.text);
    return toneSpeech.synthesize(utterance);
  },
};

let watch: ReturnType<typeof openStatementsRead>;

before(async () => {
  api = await startApi({ speech });
  watch = openStatementsRead(api.app.db.pool);
});
after(() => api.close());
beforeEach(async () => {
  // A new account for each test, so that earlier tests have no effect.
  account = await makeAccount(api.app);
  await api.app.db.pool.query(
    "update voice_campaigns set finished_at = now(), state = 'cancelled'",
  );
  [synthesized, failures, isUnavailable] = [[], {}, false];
});

const synthesizeOnce = () => synthesizeScripts(api.app, new AbortController().signal);
const en = (text: string) => ({ text, language: "en" });

async function audioFilesOf(): Promise<string[]> {
  const { rows } = await api.app.db.pool.query<{ name: string }>(
    "select name from voice_audio where account_id = $1 order by name",
    [account.account_id],
  );
  return rows.map(({ name }) => name);
}

/** Creates a running smartvoice campaign that greets each name; null: a recipient without a name. */
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

/** Returns the states of a campaign's recipients in order; fails unless the counts agree. */
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

async function synthesizeAll(): Promise<void> {
  while ((await synthesizeOnce()) > 0);
}

test("synthesizes a text once for concurrent requests, and stores the audio for one account only", async () => {
  const { account_id } = account;
  const results = await Promise.all(
    Array.from({ length: 20 }, () => synthesizeAudio(api.app, account_id, en("Hello"))),
  );
  assert.deepEqual(synthesized, ["Hello"]);
  const [{ name, duration_ms, read }] = results as [(typeof results)[number]];
  assert.ok(results.every((audio) => audio.name === name));
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

test("uploaded samples never get the name of a synthesized text", async () => {
  const { account_id } = account;
  const samples = Buffer.from(JSON.stringify([speech.voice, "en", "Your code is 12"]));
  const crafted = await storeAudio(api.app.db.query, account_id, samples, new Date());
  const script = await synthesizeAudio(api.app, account_id, en("Your code is 12"));
  assert.notEqual(crafted.name, script.name);
  assert.deepEqual(synthesized, ["Your code is 12"]);
});

test("a call plays the audio of its own account, also where accounts share a node", async () => {
  const other = await makeAccount(api.app);
  const audio = await Promise.all(
    [account, other].map(({ account_id }) => synthesizeAudio(api.app, account_id, en("Hello"))),
  );
  assert.deepEqual(
    audio.map(({ owner }) => owner),
    [String(account.account_id), String(other.account_id)],
  );
});

test("retries a failed synthesis on the next request, and stores nothing of the failed one", async () => {
  failures = { Hello: "failed" };
  const { account_id } = account;
  await assert.rejects(synthesizeAudio(api.app, account_id, en("Hello")), { failure: "failed" });
  failures = {};
  await synthesizeAudio(api.app, account_id, en("Hello"));
  assert.equal((await audioFilesOf()).length, 1);
});

test("the texts of accounts that wait alternate, and each account has its own limit of waiting texts", async () => {
  const { promise: start, resolve: begin } = Promise.withResolvers<void>();
  const order: string[] = [];
  // One at a time, like the driver.
  const slots = openSlots(1, 1_000);
  const synthesize = (utterance: Utterance) =>
    slots.use(async () => {
      await start;
      order.push(utterance.text[0]!);
      return toneSpeech.synthesize(utterance);
    });
  const app = { ...api.app, speech: { ...toneSpeech, synthesize } };
  const requestMany = (account_id: number, name: string) => {
    const refused: unknown[] = [];
    const done = Array.from({ length: 105 }, (_, i) =>
      synthesizeAudio(app, account_id, en(`${name} ${i}`)).catch((error: unknown) =>
        refused.push(error),
      ),
    );
    return { refused, done };
  };
  const first = requestMany(account.account_id, "A");
  await eventually(() => first.refused.length === 3, 30);
  const { account_id } = await makeAccount(api.app);
  const second = requestMany(account_id, "B");
  await eventually(() => second.refused.length === 3, 30);
  begin();
  await Promise.all([...first.done, ...second.done]);
  assert.equal(order.slice(0, 8).join(""), "AABBAABB");
  assert.equal(order.length, 204);
  for (const error of [...first.refused, ...second.refused])
    assert.ok(error instanceof Refusal && error.type === "unavailable");
});

test("deletes synthesized audio that was not requested for 30 days, unless a voice file or an open campaign may use it; an open test call does not keep it", async () => {
  const { app, clock } = api;
  const { account_id } = account;
  const day_ms = 86_400_000;
  const start = new Date("2026-03-01T12:00:00Z");
  clock.set(start);
  const [unused, used, requested] = [
    await synthesizeAudio(app, account_id, en("unused")),
    await synthesizeAudio(app, account_id, en("used")),
    await synthesizeAudio(app, account_id, en("requested")),
  ];
  const stored = await storeAudio(app.db.query, account_id, tone(60), start);
  await makeVoiceFile(app, account, { audio_name: used.name, duration_ms: used.duration_ms });
  await makeVoiceCampaign(app, account, { campaign: { is_test: true }, recipients: [] });
  clock.advance(25 * day_ms);
  await synthesizeAudio(app, account_id, en("requested"));
  // An open campaign may use it.
  await makeVoiceCampaign(app, account, { recipients: [] });
  const needed = await synthesizeAudio(app, account_id, en("needed"));
  clock.advance(6 * day_ms);
  await purgeUnusedAudio(app);
  const kept = [used.name, requested.name, needed.name, stored.name];
  assert.deepEqual(await audioFilesOf(), kept.toSorted());
  assert.ok(!kept.includes(unused.name));
  clock.advance(40 * day_ms);
  await purgeUnusedAudio(app);
  assert.deepEqual(await audioFilesOf(), kept.toSorted());
  await app.db.pool.query("update voice_campaigns set finished_at = now()");
  await purgeUnusedAudio(app);
  assert.deepEqual(await audioFilesOf(), [used.name, stored.name].toSorted());
  clock.set(new Date());
});

test("deletes the audio of archived voice files once nothing plays it, and then refuses the retry of its campaign", async () => {
  const { app, clock } = api;
  const { account_id, token } = account;
  const day_ms = 86_400_000;
  clock.set(new Date("2026-03-01T12:00:00Z"));
  const names: string[] = [];
  const files: number[] = [];
  // Plain, in a campaign, the message to callers, in a menu, also of an active file, active.
  for (const [i, active] of [false, false, false, false, false, true].entries()) {
    const { name, duration_ms } = await storeAudio(
      app.db.query,
      account_id,
      tone(60 + i),
      clock.now(),
    );
    names.push(name);
    files.push(await makeVoiceFile(app, account, { audio_name: name, duration_ms, active }));
  }
  await makeVoiceFile(app, account, { audio_name: names[4]!, duration_ms: 64 });
  const plan = (name: string) => ({
    content: { call_type: "obd_voice_call", prompt: { audio: { name, duration_ms: 61 } } },
    opt_out_key: null,
    answering_machine: "off",
  });
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: { plan: JSON.stringify(plan(names[1]!)) },
    recipients: [{ state: "busy" }],
  });
  const { pool } = app.db;
  await pool.query("update accounts set busy_voice_file_id = $2 where account_id = $1", [
    account_id,
    files[2],
  ]);
  await pool.query(
    `insert into voice_menus (account_id, name, graph, created_at, updated_at)
     values ($1, 'Hours', $2, now(), now())`,
    [
      account_id,
      JSON.stringify({ start: "a", nodes: { a: { prompt: { voice_file_id: files[3] } } } }),
    ],
  );
  const download = (id: number) => api.send("GET", `/api/v1/voice/files/${id}/audio`, { token });
  clock.advance(29 * day_ms);
  assert.equal(await purgeArchivedAudio(app), 0);
  clock.advance(2 * day_ms);
  assert.equal(await purgeArchivedAudio(app), 1);
  assert.deepEqual(await audioFilesOf(), names.slice(1).toSorted());
  assert.equal((await download(files[0]!)).status, 404);
  const retry = () =>
    api.send("POST", `/api/v1/voice/campaigns/${campaign.id}/retry`, {
      token,
      json: {},
      headers: { "idempotency-key": String(clock.now().getTime()) },
    });
  const finish = () =>
    pool.query(
      "update voice_campaigns set finished_at = now(), state = 'completed' where account_id = $1",
      [account_id],
    );
  await finish();
  clock.advance(31 * day_ms);
  assert.equal((await retry()).status, 200);
  await finish();
  assert.equal(await purgeArchivedAudio(app), 0);
  clock.advance(31 * day_ms);
  assert.equal(await purgeArchivedAudio(app), 1);
  assert.deepEqual(await audioFilesOf(), names.slice(2).toSorted());
  const refused = await retry();
  assert.deepEqual([refused.status, refused.body.type], [409, "conflict"], refused.text);
  assert.match(refused.body.detail, /audio/);
  clock.set(new Date());
});

test("synthesizes each recipient's own text, distinct texts once; a recipient without a value fails", async () => {
  const notified: string[] = [];
  api.app.notifications.on("voice_work", (subject) => notified.push(subject));
  const names = Array.from({ length: 30 }, (_, i) => `N${i % 3}`);
  const campaign = await campaignOf([...names, null, " "]);
  await synthesizeAll();
  assert.deepEqual(await statesOf(campaign), [...names.map(() => "waiting"), "failed", "failed"]);
  assert.deepEqual(synthesized.toSorted(), ["Hello N0", "Hello N1", "Hello N2"]);
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

test("while an account's storage is full, its recipients remain synthesizing", async () => {
  const setQuota = (megabytes: number) =>
    api.app.db.pool.query("update accounts set storage_megabytes = $2 where account_id = $1", [
      account.account_id,
      megabytes,
    ]);
  const campaign = await campaignOf(["Ann"]);
  await setQuota(1);
  await storeAudio(api.app.db.query, account.account_id, tone(63_000), new Date());
  assert.equal(await synthesizeOnce(), 0);
  assert.deepEqual(await statesOf(campaign), ["synthesizing"]);
  await setQuota(2);
  await synthesizeAll();
  assert.deepEqual(await statesOf(campaign), ["waiting"]);
});

test("a campaign with enough scripts ahead does not add up its account's audio, nor does each batch of another", async () => {
  const additions = async (full_storages?: FullStorages) => {
    const { answer, statements } = await watch(() =>
      synthesizeScripts(api.app, new AbortController().signal, undefined, full_storages),
    );
    return [answer, statements.filter(({ text }) => text.includes("sum(k.duration_ms)")).length];
  };
  const { id } = await makeVoiceCampaign(api.app, account, {
    campaign: { call_type: "obd_smartvoice" },
    recipients: Array.from({ length: 520 }, (_, i): RecipientToMake =>
      i < 500
        ? { state: "waiting", audio_name: "0".repeat(64) }
        : { state: "synthesizing", variables: JSON.stringify({ name: "Ann" }) },
    ),
  });
  assert.deepEqual(await additions(), [0, 0]);
  await api.app.db.pool.query(
    "delete from voice_recipients where account_id = $1 and campaign_id = $2 and state = 'waiting'",
    [account.account_id, id],
  );
  const full_storages = new Map<number, boolean>();
  const [first, second] = [await additions(full_storages), await additions(full_storages)];
  assert.ok(first[0]! > 0 && second[0]! > 0);
  assert.deepEqual([first[1], second[1]], [1, 0]);
});

test("concurrent workers move each recipient of a campaign to waiting once", async () => {
  const campaign = await campaignOf(Array.from({ length: 60 }, (_, i) => `N${i}`));
  await Promise.all(Array.from({ length: 4 }, synthesizeAll));
  // A worker that found nothing may have returned while others were still synthesizing.
  await synthesizeAll();
  assert.deepEqual(new Set(await statesOf(campaign)), new Set(["waiting"]));
});

test("a text that cannot be synthesized fails only its recipient; while TTS is unavailable, all remain synthesizing", async () => {
  const campaign = await campaignOf(["Ann", "Bad", "Worse", "Bob"]);
  isUnavailable = true;
  for (let i = 0; i < 5; i++) assert.equal(await synthesizeOnce(), 0);
  assert.deepEqual(await statesOf(campaign), [
    "synthesizing",
    "synthesizing",
    "synthesizing",
    "synthesizing",
  ]);
  isUnavailable = false;
  failures = { "Hello Bad": "rejected", "Hello Worse": "failed" };
  for (let i = 0; i < 5; i++) await synthesizeOnce();
  assert.deepEqual(await statesOf(campaign), ["waiting", "failed", "failed", "waiting"]);
});

test("synthesizes scripts from ten minutes before a campaign's start, at most 500 ahead, and never for an ended campaign", async () => {
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
  // Recipients that wait for a later attempt do not count.
  const retrying = await full(waiting(500, inMinutes(30)));
  await synthesizeAll();
  assert.deepEqual(await statesOf(soon), ["waiting"]);
  assert.deepEqual(await statesOf(late), ["synthesizing"]);
  assert.deepEqual(await statesOf(over), ["synthesizing"]);
  assert.equal((await statesOf(ahead)).at(-1), "synthesizing");
  assert.equal((await statesOf(retrying)).at(-1), "waiting");
  api.clock.set(new Date());
});

test("recipients in a time zone where it is night do not keep the scripts of other zones from being synthesized", async () => {
  const now = new Date("2026-03-02T12:00:00Z");
  api.clock.set(now);
  const [at_night, by_day] = ["Pacific/Honolulu", "Asia/Kolkata"];
  const scripts = (time_zones: string, n: number): RecipientToMake[] =>
    Array.from({ length: n }, () => ({
      state: "synthesizing",
      variables: JSON.stringify({ name: "Asha" }),
      time_zones,
    }));
  const makeCampaign = (recipients: RecipientToMake[]) =>
    makeVoiceCampaign(api.app, account, {
      campaign: { call_type: "obd_smartvoice", time_zones: [at_night, by_day] },
      recipients,
    });
  const ahead = Array.from({ length: 500 }, () => ({
    state: "waiting" as const,
    audio_name: "0".repeat(64),
    due_at: now,
    time_zones: at_night,
  }));
  const full = await makeCampaign([...ahead, ...scripts(at_night, 1), ...scripts(by_day, 1)]);
  assert.equal(await synthesizeOnce(), 1);
  assert.deepEqual((await statesOf(full)).slice(-2), ["synthesizing", "waiting"]);
  assert.equal(await synthesizeOnce(), 0);
  // Zones that may be called come first, in any order of the recipients.
  const both = await makeCampaign([...scripts(at_night, 1), ...scripts(by_day, 16)]);
  for (const moved of [8, 8, 1]) {
    assert.equal((await statesOf(both))[0], "synthesizing");
    assert.equal(await synthesizeOnce(), moved);
  }
  assert.equal((await statesOf(both))[0], "waiting");
  api.clock.set(new Date());
});

test("synthesis does not read the recipients that were called", async () => {
  const { id } = await campaignOf(["Asha"]);
  await api.app.db.pool.query(
    `insert into voice_recipients (account_id, campaign_id, id, number, phone, state, due_at)
     select r.account_id, r.campaign_id, -n, r.number, r.phone, 'answered', r.due_at
     from voice_recipients r, generate_series(1, 5000) n where r.account_id = $1 and r.campaign_id = $2`,
    [account.account_id, id],
  );
  await api.app.db.pool.query("analyze voice_recipients");
  const { answer, statements } = await watch(synthesizeOnce);
  assert.equal(answer, 1);
  for (const { text, read } of statements) assert.ok(read < 100, `read ${read} rows: ${text}`);
});
