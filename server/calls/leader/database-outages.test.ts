// Calls that go on while the database is unavailable for less than a lease.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { leadNodes, openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  openInterruptibleProxy,
  type InterruptibleProxy,
} from "../../../test/support/interruptible-proxy.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makePhoneNumber,
  makeSandboxTrunk,
} from "../../../test/support/telephony-factory.ts";
import { openSandboxVoiceDriver } from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import type { VoiceDriver, VoiceEvent } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { openLog, type Log } from "../../lib/log.ts";
import { default_settings } from "../../worker.ts";

const sandbox = openSandboxVoiceDriver({ pace: 10 });
const silent = openLog("silent", { readable: false });
let onLogged = (_text: string) => {};
const note = (_fields: unknown, text: string) => onLogged(text);
const log: Log = Object.assign(Object.create(silent) as Log, { warn: note, error: note });

/** A busy machine may stall this process for seconds; a leader that loses its lease gets no call. */
const long_leases = { ...default_settings.leases, lease_ms: 300_000 };

let database: TestDatabase;
let proxy: InterruptibleProxy;
let api: TestApi;
let app: App;
let client: CallClient;
let node_id: number;
let report: (event: VoiceEvent) => void;
let onSwitchEvent = (event: VoiceEvent) => report(event);
/** The names of the legs that were dialed. */
const dialed: string[] = [];
let leaders: { stop(): Promise<void> };

before(async () => {
  database = await cloneDatabase();
  const url = new URL(database.url);
  proxy = await openInterruptibleProxy(Number(url.port));
  Object.assign(url, { hostname: "127.0.0.1", port: String(proxy.port) });
  const voiceDriver: VoiceDriver = {
    ...sandbox,
    open(node, onEvent, maySend) {
      report = onEvent;
      const session = sandbox.open(node, (event) => onSwitchEvent(event), maySend);
      return {
        ...session,
        dial(dial) {
          dialed.push(dial.leg);
          return session.dial(dial);
        },
      };
    },
  };
  api = await startApi({ databaseUrl: url.href, voiceDrivers: { sandbox: voiceDriver } });
  app = { ...api.app, log };
  client = await openCallClient(api, await makeCallingAccount(app));
  ({ node_id } = await makeSandboxTrunk(app));
  leaders = leadNodes(app, default_settings.leaders, long_leases);
  const nodes = app.db.query.selectFrom("voice_nodes").where("id", "=", node_id);
  const isConnected = nodes.where("connected_at", "is not", null).select("id");
  await eventually(async () => (await isConnected.execute()).length === 1);
});
after(async () => {
  await leaders.stop();
  await sandbox.close();
  await api.close();
  await proxy.close();
  await database.drop();
});

/** Cuts the database until this is logged so many times; resolves then. */
function cutUntil(text: string, times: number): Promise<void> {
  proxy.cut();
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  onLogged = (logged) => {
    if (logged.startsWith(text)) count++;
    if (count < times) return;
    proxy.restore();
    resolve();
  };
  return promise;
}

test("answers an incoming call, or reports it as missed, after a short outage of the database", async () => {
  const [answered, missed] = ["918000000101", "918000000102"];
  for (const number of [answered, missed]) await makePhoneNumber(app, client.account, number);
  const agent_group_id = await makeAgentGroup(app, client.account, ["201"]);
  await client.ask("PATCH", `/api/v1/phone-numbers/${answered}`, { agent_group_id });
  const node = { id: node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  const callIn = (to: string) =>
    sandbox.receiveCall(node, { endpoint: "sandbox", from: "+919812345678", to });
  const restored = cutUntil("could not answer or record an incoming call", 2);
  const over = Promise.all([callIn(answered), callIn(missed)]);
  await restored;
  await over;
  const records = async () =>
    (await client.ask("GET", `/api/v1/calls?number=%2B${answered}`)).body.data;
  await eventually(async () => (await records())[0]?.ended_at);
  assert.equal((await records())[0].disposition, "answered");
  const events = app.db.query.selectFrom("events").select("data").where("type", "=", "call.missed");
  const reported = (await events.execute()).map(({ data }) => data as { called_number: string });
  assert.deepEqual(
    reported.map(({ called_number }) => called_number),
    [missed],
  );
});

test("does not dial the customer of an agent who hung up while the database was unavailable", async () => {
  const restored = Promise.withResolvers<void>();
  onSwitchEvent = (event) => {
    const isAnswer = event.type === "answered";
    if (isAnswer) restored.resolve(cutUntil("could not store a call's transition", 2));
    report(event);
    if (!isAnswer) return;
    const { leg, at } = event;
    const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
    report({ type: "ended", leg, at, ending, answered_at: at });
  };
  dialed.length = 0;
  const campaign = await client.call({ from_number: "301", to_number: "9812777900" });
  await restored.promise;
  const call = await client.awaitCall(campaign, "completed", "failed", "canceled", "no-answer");
  assert.deepEqual([call.ended_by, dialed.length], ["agent", 1]);
});
