// Opt-outs that cannot be stored, or that an AI agent does not understand, before the node leader ends.
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
import type { VoiceEvent, VoiceSession } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { legName } from "../state-machine/call.ts";
import type { VoiceContent } from "../state-machine/voice-plan.ts";
import { openLog, type Log } from "../../lib/log.ts";
import { default_settings } from "../../worker.ts";

const sandbox = openSandboxVoiceDriver({ pace: 10 });
const silent = openLog("silent", { readable: false });
let onLogged = (_text: string) => {};
const note = (_fields: unknown, text: string) => onLogged(text);
const log: Log = Object.assign(Object.create(silent) as Log, { warn: note, error: note });

let database: TestDatabase;
let proxy: InterruptibleProxy;
let stub: RealtimeStub;
let api: TestApi;
let app: App;
let client: CallClient;
let trunk_id: number;
let session: VoiceSession;
let report: (event: VoiceEvent) => void;
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
      sandbox: {
        ...sandbox,
        open(...parts) {
          [, report] = parts;
          return (session = sandbox.open(...parts));
        },
      },
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

/** A busy machine may stall this process for seconds before a test cuts the database. */
const short_leases = { lease_ms: 10_000, renew_ms: 500, margin_ms: 2_000 };

const ai_bot = { call_type: "ai_bot", agent: talking_agent, transfer_to: null } as const;

async function launch(
  phone: string,
  content: VoiceContent = ai_bot,
  opt_out_key: string | null = null,
): Promise<{ id: number }> {
  const plan = JSON.stringify({ content, opt_out_key, answering_machine: "off" });
  const campaign = { trunk_id, call_type: content.call_type, plan, max_retry: 0 };
  const made = await makeVoiceCampaign(app, client.account, {
    campaign,
    recipients: [{ number: phone, phone: `91${phone}` }],
  });
  app.notifications.send("voice_work", String(trunk_id));
  return made;
}

const callOf = ({ id }: { id: number }) =>
  app.db.query.selectFrom("calls").selectAll().where("campaign_id", "=", id).executeTakeFirst();

/** Cuts the database until one of the texts is logged; resolves then. */
function cutUntil(...texts: readonly string[]): Promise<void> {
  proxy.cut();
  const { promise, resolve } = Promise.withResolvers<void>();
  onLogged = (logged) => {
    if (!texts.includes(logged)) return;
    proxy.restore();
    resolve();
  };
  return promise;
}

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
  leaders = leadNodes(app, default_settings.leaders, short_leases);
  await talk(phone);
  const restored = cutUntil("could not record an opt-out; retrying");
  stub.last().say({ call: { name: "opt_out", args: {} } });
  await restored;
  const isSuppressed = () =>
    app.db.query.selectFrom("suppressions").select("id").where("source", "=", "ai_call").execute();
  await eventually(async () => (await isSuppressed()).length === 1);
  const again = await launch(phone);
  await eventually(async () => (await recipientState(again)) === "suppressed");
});

const hello = { say: "Hello", language: "en" } as const;
const ask = { type: "menu", prompt: hello, invalid_prompt: null } as const;
const otherwise = { timeout_seconds: 20, tries: 3, otherwise: "bye" } as const;

/** A menu that opts out by the keys 1 and 2. */
const opt_out_menu: VoiceContent = {
  call_type: "obd_ivr",
  menu: {
    start: "main",
    nodes: {
      main: { ...ask, ...otherwise, keys: { "1": "sure" } },
      sure: { ...ask, ...otherwise, keys: { "2": "out" } },
      out: { type: "opt_out", prompt: null },
      bye: { type: "hang_up", prompt: null },
    },
  },
};

type CallIds = { readonly account_id: number; readonly id: number };

/** Waits until the campaign's recipient has answered; returns the call. */
async function answered(campaign: { id: number }): Promise<CallIds> {
  await eventually(async () => (await callOf(campaign))?.stage === "talking");
  return (await callOf(campaign))!;
}

/** Presses the keys on the recipient's phone, one right after the other. */
function press(call: CallIds, keys: string): void {
  const leg = legName(call, { id: 1 });
  for (const digit of keys) report({ type: "digit", leg, digit, at: new Date() });
}

/** Waits until the call's opt-out by this key is stored. */
async function awaitOptOut(phone: string, { id: call_id }: CallIds, key: string): Promise<void> {
  const { db } = app;
  const suppressions = db.query.selectFrom("suppressions").where("phone", "=", `91${phone}`);
  const stored = suppressions.select(["source", "evidence"]);
  await eventually(async () => (await stored.execute()).length > 0);
  assert.deepEqual(await stored.execute(), [{ source: "dtmf", evidence: { call_id, key } }]);
  const call = db.query.selectFrom("calls").select("opted_out").where("id", "=", call_id);
  assert.equal((await call.executeTakeFirstOrThrow()).opted_out, true);
  const again = await launch(phone);
  await eventually(async () => (await recipientState(again)) === "suppressed");
}

test("never again calls recipients who opt out by a key while the database is unavailable for longer than a lease", async () => {
  leaders = leadNodes(app, default_settings.leaders, short_leases);
  const [plain, in_menu] = ["9003777900", "9004777900"];
  const of_menu = await answered(await launch(in_menu, opt_out_menu));
  // Last, because it listens for a few seconds only.
  const message: VoiceContent = { call_type: "obd_voice_call", prompt: hello };
  const of_plain = await answered(await launch(plain, message, "9"));
  // It is back between the keys of the menu, before the lease has expired.
  const restored = cutUntil("could not handle a call's event");
  press(of_menu, "12");
  press(of_plain, "9");
  await restored;
  await awaitOptOut(plain, of_plain, "9");
  await awaitOptOut(in_menu, of_menu, "2");
});

test("a stop records an opt-out by a key that waits behind another one", async () => {
  leaders = leadNodes(app, default_settings.leaders, short_leases);
  const phone = "9005777900";
  const call = await answered(await launch(phone, opt_out_menu));
  // The first if the leader was waiting for the database with the first key; else the second.
  const restored = cutUntil(
    "could not handle a call's event",
    "could not record an opt-out; retrying",
  );
  press(call, "12");
  await Promise.all([leaders.stop(), restored]);
  leaders = leadNodes(app);
  await awaitOptOut(phone, call, "2");
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
