// Opt-outs to an AI agent that cannot be stored, or are not understood, before the node leader ends.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { talking_agent } from "../../../test/support/ai-agent-plan.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { leadNodes, openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  openInterruptibleProxy,
  type InterruptibleProxy,
} from "../../../test/support/interruptible-proxy.ts";
import { startRealtimeStub, type RealtimeStub } from "../../../test/support/realtime-stub.ts";
import { makeCallingAccount, makeSandboxTrunk } from "../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { openRealtimeDriver } from "../../drivers/ai-agent/realtime/open-realtime-driver.ts";
import { openSandboxVoiceDriver } from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import type { VoiceSession } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { openLog, type Log } from "../../lib/log.ts";
import { default_settings } from "../../worker.ts";

const sandbox = openSandboxVoiceDriver({ pace: 10 });
const silent = openLog("silent", { readable: false });
let logged: string[] = [];
const note = (_fields: unknown, text: string) => void logged.push(text);
const log: Log = Object.assign(Object.create(silent) as Log, { warn: note, error: note });

let database: TestDatabase;
let proxy: InterruptibleProxy;
let stub: RealtimeStub;
let api: TestApi;
let app: App;
let client: CallClient;
let trunk_id: number;
let session: VoiceSession;
let leaders: { stop(): Promise<void> };

before(async () => {
  database = await cloneDatabase();
  const url = new URL(database.url);
  proxy = await openInterruptibleProxy(Number(url.port));
  Object.assign(url, { hostname: "127.0.0.1", port: String(proxy.port) });
  stub = await startRealtimeStub();
  stub.script({ answer: () => ({ say: "Good day." }) });
  const model = { model: "gpt-test", transcription_model: "words" };
  api = await startApi({
    databaseUrl: url.href,
    voiceDrivers: {
      sandbox: { ...sandbox, open: (...parts) => (session = sandbox.open(...parts)) },
    },
    aiAgentDrivers: {
      realtime: openRealtimeDriver({ url: stub.url, api_key: null, ...model, log: silent }),
    },
  });
  app = { ...api.app, log };
  client = await openCallClient(api, await makeCallingAccount(app));
  ({ trunk_id } = await makeSandboxTrunk(app));
});
afterEach(() => leaders.stop());
after(async () => {
  await sandbox.close();
  await api.close();
  await stub.close();
  await proxy.close();
  await database.drop();
});

async function launch(phone: string): Promise<{ id: number }> {
  const content = { call_type: "ai_bot", agent: talking_agent, transfer_to: null };
  const plan = JSON.stringify({ content, opt_out_key: null, answering_machine: "off" });
  const campaign = { trunk_id, call_type: "ai_bot" as const, plan, max_retry: 0 };
  const made = await makeVoiceCampaign(app, client.account, {
    campaign,
    recipients: [{ number: phone, phone: `91${phone}` }],
  });
  app.notifications.send("voice_work", String(trunk_id));
  return made;
}

const callOf = ({ id }: { id: number }) =>
  app.db.query.selectFrom("calls").selectAll().where("campaign_id", "=", id).executeTakeFirst();

/** Calls the phone and waits until the AI agent has greeted it. */
async function talk(phone: string): Promise<{ id: number }> {
  const earlier = stub.connections.length;
  const campaign = await launch(phone);
  await eventually(async () => (await callOf(campaign))?.stage === "talking");
  await eventually(() => stub.connections.length > earlier && stub.last().items.size === 1);
  return campaign;
}

async function recipientState({ id }: { id: number }): Promise<string> {
  const recipients = app.db.query.selectFrom("voice_recipients").where("campaign_id", "=", id);
  return (await recipients.select("state").executeTakeFirstOrThrow()).state;
}

test("never again calls a caller who opts out to an AI agent while the database is unavailable for longer than a lease", async () => {
  const phone = "9001777900";
  const leases = { lease_ms: 4_000, renew_ms: 500, margin_ms: 2_000 };
  leaders = leadNodes(app, default_settings.leaders, leases);
  await talk(phone);
  proxy.cut();
  logged = [];
  stub.last().say({ call: { name: "opt_out", args: {} } });
  await eventually(() => logged.some((text) => text.startsWith("could not record an opt-out")));
  proxy.restore();
  const isSuppressed = () =>
    app.db.query.selectFrom("suppressions").select("id").where("source", "=", "ai_call").execute();
  await eventually(async () => (await isSuppressed()).length === 1);
  const again = await launch(phone);
  await eventually(async () => (await recipientState(again)) === "suppressed");
});

test("a stop waits until the last words of a caller who has hung up are understood, without the node's lease", async () => {
  leaders = leadNodes(app);
  const campaign = await talk("9002777900");
  const line = stub.last();
  // The model is about to respond to what the caller has said.
  line.send({ type: "input_audio_buffer.speech_started" });
  line.send({ type: "input_audio_buffer.speech_stopped" });
  await eventually(() => line.eventsOf("conversation.item.truncate").length > 0);
  const { account_id, id } = (await callOf(campaign))!;
  await session.hangUp(`trk-${account_id}-${id}-1`);
  await eventually(async () => (await callOf(campaign))!.stage === "ended");
  const stopped = leaders.stop().then(() => callOf(campaign));
  const held = app.db.query.selectFrom("leases").where("name", "like", "voice_node:%");
  await eventually(async () => {
    const rows = await held.select("holder").execute();
    return rows.every(({ holder }) => holder === null);
  });
  line.say({ call: { name: "opt_out", args: {} } });
  assert.equal((await stopped)!.opted_out, true);
});
