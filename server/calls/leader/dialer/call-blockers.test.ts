import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import { leadNodes, openCallClient } from "../../../../test/support/call-client.ts";
import {
  makeCallingAccount,
  makeSandboxTrunk,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { makeSuppression } from "../../../../test/support/chat-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import type { TestAccount } from "../../../../test/support/account-factory.ts";
import type { VoiceEvent, VoiceSession } from "../../../drivers/voice/driver.ts";
import { openSandboxVoiceDriver } from "../../../drivers/voice/sandbox/open-sandbox-driver.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";

let api: TestApi;
const sandbox = openSandboxVoiceDriver({ pace: 50 });
/** Runs just before the leader receives the answer of any leg. */
let beforeAnswer = async () => {};
/** Sends an event of the switch to the leader. */
let sendToLeader: (event: VoiceEvent) => void;
/** Simulates a restarted switch, which has lost its channels. */
let isSwitchEmpty = false;

before(async () => {
  const open: typeof sandbox.open = (node, onEvent) => {
    sendToLeader = onEvent;
    const session = sandbox.open(node, (event) => {
      if (event.type === "answered") void beforeAnswer().then(() => onEvent(event));
      else onEvent(event);
    });
    const snapshot: VoiceSession["snapshot"] = async () =>
      isSwitchEmpty ? { epoch: "another", legs: [], bridges: [] } : session.snapshot();
    return { ...session, snapshot };
  };
  api = await startApi({ voiceDrivers: { sandbox: { ...sandbox, open } } });
  await makeSandboxTrunk(api.app);
});
after(async () => {
  await sandbox.close();
  await api.close();
});

const roles = ({ legs }: { legs: { role: string }[] }) => legs.map(({ role }) => role);
const endings = ({ status, ended_reason }: { status: string; ended_reason: string | null }) => [
  status,
  ended_reason,
];

/** Places a call with a node leader, and returns its call record once it is canceled. */
async function canceledRecord(
  account: TestAccount,
  meanwhile: () => Promise<void> = async () => {},
  from_number = "101",
) {
  const client = await openCallClient(api, account);
  const campaign = await client.call({ to_number: "9800777900", from_number });
  await meanwhile();
  const leaders = leadNodes(api.app);
  try {
    return await client.awaitCall(campaign, "canceled");
  } finally {
    await leaders.stop();
  }
}

test("does not call a customer who opts out while the agent's phone rings", async () => {
  const account = await makeCallingAccount(api.app);
  const { account_id } = account;
  const optOut = {
    account_id,
    person: { phone: "919800777900" },
    channel: "voice",
    scope: "all",
    source: "manual",
    reason: "opted out",
    evidence: null,
    occurred_at: api.clock.now(),
    expires_at: null,
    created_by: null,
  } as const;
  beforeAnswer = async () => {
    const tx = api.app.db.query.transaction();
    await tx.execute((inside) => suppress(inside, optOut, api.clock.now()));
  };
  const record = await canceledRecord(account);
  beforeAnswer = async () => {};
  assert.deepEqual(endings(record), ["canceled", "suppressed"]);
  assert.deepEqual([roles(record), record.cost], [["agent"], 1]);
});

test("does not ring a suppressed phone as the agent of a click-to-call", async () => {
  const account = await makeCallingAccount(api.app);
  await makeSuppression(api.app, account, "919800777901", { channel: "voice" });
  const record = await canceledRecord(account, async () => {}, "9800777901");
  assert.deepEqual(endings(record), ["canceled", "suppressed"]);
  assert.deepEqual([roles(record), record.cost], [[], 0]);
});

test("does not call a customer whose calling window closes while the agent's phone rings", async () => {
  const account = await makeCallingAccount(api.app);
  await setCalling(api.app, account, { night_calling: false, time_zone: "Asia/Kolkata" });
  api.clock.set("2026-11-02T15:29:59Z");
  beforeAnswer = async () => api.clock.set("2026-11-02T15:30:00Z");
  const record = await canceledRecord(account);
  beforeAnswer = async () => {};
  assert.deepEqual(endings(record), ["canceled", "night_window"]);
  assert.deepEqual(roles(record), ["agent"]);
});

test("does not place a call of an account that has lost the feature", async () => {
  const { db } = api.app;
  const account = await makeCallingAccount(api.app);
  const { account_id } = account;
  const client = await openCallClient(api, account);
  await client.call({ to_number: "9800777900", from_number: "101" });
  const accounts = db.query.updateTable("accounts").where("account_id", "=", account_id);
  await accounts.set({ features: [] }).execute();
  const leaders = leadNodes(api.app);
  const calls = db.query.selectFrom("calls").select(["stage", "status", "ended_reason"]);
  const readCall = () => calls.where("account_id", "=", account_id).executeTakeFirstOrThrow();
  await eventually(async () => (await readCall()).stage === "ended");
  await leaders.stop();
  assert.deepEqual(endings(await readCall()), ["canceled", "not_allowed"]);
});

test("does not place a call that waited for more than an hour", async () => {
  const account = await makeCallingAccount(api.app);
  const record = await canceledRecord(account, async () => api.clock.advance(3_600_001));
  assert.deepEqual(endings(record), ["canceled", "too_late"]);
  assert.deepEqual([roles(record), record.cost], [[], 0]);
});

test("bills a call lost with its switch until the switch was last seen", async () => {
  const { app, clock } = api;
  const account = await makeCallingAccount(app);
  await setCalling(app, account, { calls_recorded: false });
  const client = await openCallClient(api, account);
  const leaders = leadNodes(app);
  const campaign = await client.call({ to_number: "9800777900", from_number: "101" });
  await client.awaitCall(campaign, "in-progress");
  sendToLeader({ type: "disconnected", seen_at: clock.now() });
  clock.advance(36_000_000);
  isSwitchEmpty = true;
  sendToLeader({ type: "connected", epoch: "another" });
  const record = await client.awaitCall(campaign, "completed");
  isSwitchEmpty = false;
  await leaders.stop();
  assert.deepEqual([record.ended_reason, record.cost], ["node_lost", 2]);
});
