import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { readEvents, type EventReader } from "../../test/support/event-reader.ts";
import { eventually } from "../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { manualTimers } from "../lib/timers.ts";
import { makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { buildHttpServer } from "../api/http-server.ts";
import { openMetrics } from "../lib/metrics.ts";
import { followCampaigns } from "./campaign-progress.ts";
import { openLiveEvents } from "./open-live-events.ts";
import { heartbeat_ms } from "./maintain-streams.ts";

let api: TestApi;
let server: FastifyInstance;
let url: string;
const time = manualTimers();
const metrics = openMetrics();

before(async () => {
  api = await startApi();
  const live = openLiveEvents(api.app, metrics, time.timers);
  server = await buildHttpServer({ ...api.app, metrics, live });
  await server.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
});
after(async () => {
  await server.close();
  await api.close();
});

type Campaigns = { readonly account: TestAccount; readonly chat: number; readonly voice: number };

/** An account with a chat and a voice campaign of ten each, both running. */
async function makeCampaigns(): Promise<Campaigns> {
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 100 });
  const number = await makeChatNumber(api.app, account);
  const template = await makeChatTemplate(api.app, account, number);
  const recipients = Array.from({ length: 10 }, (_, i) => ({ phone: `91981234567${i}` }));
  const chat = await makeChatCampaign(api.app, account, number, template, recipients);
  const { id } = await makeVoiceCampaign(api.app, account, {
    recipients: recipients.map(() => ({})),
  });
  return { account, chat, voice: id };
}

const change = (text: string, values: unknown[]) => api.app.db.pool.query(text, values);

/** Advances the clock until a snapshot of the type matches, and returns all snapshots received. */
async function snapshotsUntil(
  reader: EventReader,
  event: string,
  holds: (data: Progress) => boolean,
) {
  await eventually(() => {
    time.advance(1_000);
    return reader.dataOf(event).some(holds);
  });
  return reader.dataOf(event) as Progress[];
}

type Progress = {
  readonly campaign_id: number;
  readonly status: string;
  readonly percent: number;
  readonly total: number;
  readonly counts: Readonly<Record<string, number>>;
};

const chat_progress = "chat.campaign.progress";
const voice_progress = "voice.campaign.progress";

test("an open campaign's progress is sent first, on each change and at its end, and equals its record", async () => {
  const { account, chat, voice } = await makeCampaigns();
  const { token } = account;
  const reader = await readEvents(url, { token });
  const [first] = await snapshotsUntil(reader, chat_progress, () => true);
  const { body } = await api.send("GET", `/api/v1/chat/campaigns/${chat}`, { token });
  assert.deepEqual(first, {
    campaign_id: chat,
    status: "running",
    percent: 0,
    total: 10,
    counts: body.counts,
  });
  const [synthesized] = await snapshotsUntil(reader, voice_progress, () => true);
  assert.deepEqual(
    [synthesized!.campaign_id, synthesized!.percent, synthesized!.counts["waiting"]],
    [voice, 0, 10],
  );

  await change(
    `update chat_counts set queued = 3, sent = 4, undelivered = 2, unknown = 1
     where account_id = $1 and campaign_id = $2 and slot = 'controls'`,
    [account.account_id, chat],
  );
  const later = await snapshotsUntil(reader, chat_progress, ({ percent }) => percent === 60);
  const moved = await api.send("GET", `/api/v1/chat/campaigns/${chat}`, { token });
  assert.deepEqual(later.at(-1)!.counts, moved.body.counts);

  await change(
    `update voice_counts set waiting = 0, calling = 1, answered = 9
     where account_id = $1 and campaign_id = $2`,
    [account.account_id, voice],
  );
  await snapshotsUntil(reader, voice_progress, ({ percent }) => percent === 90);
  await change(`update voice_counts set calling = 0, busy = 1 where account_id = $1`, [
    account.account_id,
  ]);
  await change(
    `update voice_campaigns set state = 'completed', finished_at = now() where account_id = $1`,
    [account.account_id],
  );
  const all = await snapshotsUntil(reader, voice_progress, ({ status }) => status === "completed");
  assert.deepEqual([all.at(-1)!.percent, all.at(-1)!.counts["busy"]], [100, 1]);
  await change(`update voice_counts set busy = 2 where account_id = $1`, [account.account_id]);
  await change(`update chat_counts set sent = 5, queued = 2 where account_id = $1`, [
    account.account_id,
  ]);
  await snapshotsUntil(reader, chat_progress, ({ percent }) => percent === 70);
  // Nothing is sent twice, and nothing after the end.
  assert.equal(reader.dataOf(voice_progress).length, all.length);
  const texts = reader.dataOf(chat_progress).map((data) => JSON.stringify(data));
  assert.equal(new Set(texts).size, texts.length);
  assert.deepEqual(
    new Set(reader.events.map(({ id }) => id)),
    new Set([0]),
    "progress has no place of its own",
  );
  reader.close();
});

test("a campaign with any hold is shown as paused, as in its record", async () => {
  const { account, chat, voice } = await makeCampaigns();
  const { token } = account;
  const reader = await readEvents(url, { token });
  const statusOf = async (kind: "chat" | "voice", id: number) =>
    (await api.send("GET", `/api/v1/${kind}/campaigns/${id}`, { token })).body.status;
  const becomes = async (status: string) => {
    const all = await snapshotsUntil(
      reader,
      chat_progress,
      (one) => one === reader.dataOf(chat_progress).at(-1) && one.status === status,
    );
    assert.equal(await statusOf("chat", chat), status);
    return all.length;
  };
  await becomes("running");
  await change(
    `insert into chat_holds (account_id, scope, subject_id, reason, set_at)
     values ($1, 'account', 0, 'credit', now())`,
    [account.account_id],
  );
  await becomes("paused");
  await change(`delete from chat_holds where account_id = $1`, [account.account_id]);
  await becomes("running");
  await change(
    `update accounts set chat_quiet_from = '00:00', chat_quiet_to = '23:59:59' where account_id = $1`,
    [account.account_id],
  );
  api.clock.set("2026-06-01T12:00:00Z");
  await becomes("paused");
  api.clock.set(new Date());
  await change(
    `insert into voice_holds (account_id, campaign_id, reason, set_at) values ($1, $2, 'manual', now())`,
    [account.account_id, voice],
  );
  await snapshotsUntil(reader, voice_progress, ({ status }) => status === "paused");
  assert.equal(await statusOf("voice", voice), "paused");
  reader.close();
});

test("what is delivered and read after a chat campaign's end is sent for a day, also to a later reader", async () => {
  const { account, chat } = await makeCampaigns();
  const { account_id, token } = account;
  const end = api.app.clock.now();
  await change(
    `update chat_campaigns set state = 'completed', finished_at = $2 where account_id = $1`,
    [account_id, end],
  );
  const reader = await readEvents(url, { token });
  await snapshotsUntil(reader, chat_progress, ({ status }) => status === "completed");
  const read = (messages: number) =>
    change(
      `update chat_counts set queued = 10 - $2, read = $2 where account_id = $1 and slot = 'controls'`,
      [account_id, messages],
    );
  await read(4);
  await snapshotsUntil(reader, chat_progress, ({ counts }) => counts["read"] === 4);
  // In one statement, so that no refresh sees the one without the other: it is not followed any more when it is read.
  await change(
    `with ended as (
       update chat_campaigns set finished_at = $2 where account_id = $1 and id = $3)
     update chat_counts set queued = 3, read = 7 where account_id = $1 and slot = 'controls'`,
    [account_id, new Date(end.getTime() - 86_400_001), chat],
  );
  await snapshotsUntil(reader, chat_progress, ({ counts }) => counts["read"] === 7);
  await read(8);
  const { id } = await makeVoiceCampaign(api.app, account);
  const late = await readEvents(url, { token });
  await snapshotsUntil(late, voice_progress, ({ campaign_id }) => campaign_id === id);
  assert.deepEqual(late.dataOf(chat_progress), []);
  assert.equal((reader.dataOf(chat_progress) as Progress[]).at(-1)!.counts["read"], 7);
  assert.equal(reader.dataOf(chat_progress).at(-1)!.campaign_id, chat);
  for (const one of [reader, late]) one.close();
});

test("progress goes to readers that may receive and requested it, and a later reader receives the current state", async () => {
  const { account, chat } = await makeCampaigns();
  const other = await makeCampaigns();
  const token_of_voice = await makeAgentToken(api.app, account, ["voice.campaigns.read"]);
  const reader = await readEvents(url, { token: account.token });
  const voice_only = await readEvents(url, { token: token_of_voice });
  const filtered = await readEvents(url, { token: account.token, query: "?types=chat.campaign.*" });
  const foreign = await readEvents(url, { token: other.account.token });
  const all = [reader, voice_only, filtered, foreign];
  await snapshotsUntil(reader, chat_progress, () => true);
  await snapshotsUntil(foreign, chat_progress, () => true);
  // Unchanged since, and sent because this reader is new.
  const late = await readEvents(url, { token: account.token });
  await snapshotsUntil(late, chat_progress, ({ campaign_id }) => campaign_id === chat);
  const beats = all.map((one) => one.comments());
  await eventually(() => {
    time.advance(heartbeat_ms);
    return all.every((one, i) => one.comments() > beats[i]!);
  });
  const typesOf = ({ events }: EventReader) => new Set(events.map(({ event }) => event));
  assert.deepEqual(typesOf(voice_only), new Set([voice_progress]));
  assert.deepEqual(typesOf(filtered), new Set([chat_progress]));
  assert.deepEqual(
    foreign.dataOf(chat_progress).map(({ campaign_id }) => campaign_id),
    [other.chat],
  );
  assert.equal(reader.dataOf(chat_progress).length, 1);
  for (const one of [...all, late]) one.close();
});

test("a reader that arrives during a refresh for a reader that left receives the current state", async () => {
  const { account } = await makeCampaigns();
  const { token } = account;
  const leads = await readEvents(url, { token, query: "?types=lead.*" });
  const first = await readEvents(url, { token });
  await snapshotsUntil(first, chat_progress, () => true);
  const holder = await api.app.db.pool.connect();
  await holder.query("begin");
  await holder.query("lock table voice_counts in access exclusive mode");
  await eventually(async () => {
    time.advance(1_000);
    const { rows } = await holder.query(
      "select from pg_locks where not granted and relation = 'voice_counts'::regclass",
    );
    return rows.length > 0;
  });
  const streams = async () => (await metrics.eventStreams.get()).values[0]?.value;
  const open = (await streams())!;
  first.close();
  await eventually(async () => {
    // PostgreSQL terminates idle transactions.
    await holder.query("select");
    return (await streams()) === open - 1;
  });
  const second = await readEvents(url, { token });
  await holder.query("rollback");
  holder.release();
  await snapshotsUntil(second, chat_progress, () => true);
  for (const one of [leads, second]) one.close();
});

test("of the chat campaigns that ended within a day, only the 20 last are followed", async () => {
  const { account, chat } = await makeCampaigns();
  const { rows } = await change(
    `select chat_number_id, template_id from chat_campaigns where account_id = $1 and id = $2`,
    [account.account_id, chat],
  );
  const number = { id: Number(rows[0].chat_number_id) };
  const make = () =>
    makeChatCampaign(api.app, account, number as never, Number(rows[0].template_id), [
      { phone: "919812345678" },
    ]);
  const progress = followCampaigns(api.app, account.account_id);
  await progress.refresh();
  const end = (id: number) =>
    change(
      "update chat_campaigns set state = 'completed', finished_at = now() where account_id = $1 and id = $2",
      [account.account_id, id],
    );
  await end(chat);
  for (let more = 0; more < 20; more++) await end(await make());
  await progress.refresh();
  const chats = () => progress.latest().filter(({ type }) => type === "chat.campaign.progress");
  assert.equal(chats().length, 20);
  assert.ok(!chats().some(({ campaign }) => campaign.endsWith(` ${chat}`)));
});
