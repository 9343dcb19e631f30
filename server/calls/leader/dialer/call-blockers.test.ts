import assert from "node:assert/strict";
import { after, afterEach, before, test, type TestContext } from "node:test";
import { startApi, type TestApi } from "../../../../test/support/api.ts";
import {
  leadNodes,
  openCallClient,
  type CallClient,
} from "../../../../test/support/call-client.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makePhoneNumber,
  makeSandboxTrunk,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { makeContact } from "../../../../test/support/crm-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { makeSuppression } from "../../../../test/support/chat-factory.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import type { TestAccount } from "../../../../test/support/account-factory.ts";
import {
  VoiceError,
  type Dial,
  type VoiceEvent,
  type VoiceSession,
} from "../../../drivers/voice/driver.ts";
import { openSandboxVoiceDriver } from "../../../drivers/voice/sandbox/open-sandbox-driver.ts";
import { suppress } from "../../../audience/suppressions/suppress.ts";
import { default_settings } from "../../../worker.ts";
import type { LeaderTimes } from "../node/leader.ts";

let api: TestApi;
const sandbox = openSandboxVoiceDriver({ pace: 50 });
/** Runs just before the leader receives the answer of any leg. */
let beforeAnswer = async () => {};
/** Runs just before a leader's dial reaches the switch. */
let beforeDial = async (_dial: Dial) => {};
/** Replaces the sandbox's CDRs. */
let findCdrs: VoiceSession["findCdrs"] | undefined;
/** Runs after the agent's answer and before the customer is dialed. */
let beforeRingback = async () => {};
/** Sends an event of the switch to the leader. */
let sendToLeader: (event: VoiceEvent) => void;
/** The switch's own. */
let epoch: string;
/** Simulates a restarted switch, which has lost its channels. */
let isSwitchEmpty = false;
let node_id: number;
let trunk_id: number;

before(async () => {
  const open: typeof sandbox.open = (node, onEvent) => {
    sendToLeader = onEvent;
    const session = sandbox.open(node, (event) => {
      if (event.type === "connected") ({ epoch } = event);
      if (event.type === "answered") void beforeAnswer().then(() => onEvent(event));
      else onEvent(event);
    });
    const dial: VoiceSession["dial"] = async (leg) => {
      await beforeDial(leg);
      return session.dial(leg);
    };
    const ringback: VoiceSession["ringback"] = async (leg) => {
      await beforeRingback();
      return session.ringback(leg);
    };
    const snapshot: VoiceSession["snapshot"] = async () =>
      isSwitchEmpty ? { epoch: "another", legs: [], bridges: [] } : session.snapshot();
    const cdrsOf: VoiceSession["findCdrs"] = (legs) => (findCdrs ?? session.findCdrs)(legs);
    return { ...session, snapshot, dial, ringback, findCdrs: cdrsOf };
  };
  api = await startApi({ voiceDrivers: { sandbox: { ...sandbox, open } } });
  ({ node_id, trunk_id } = await makeSandboxTrunk(api.app));
});
after(async () => {
  await sandbox.close();
  await api.close();
});

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  // A timer takes at most 24 days, and a test sets a date that is further away.
  api.clock.release();
  beforeAnswer = beforeDial = beforeRingback = async () => {};
  findCdrs = undefined;
  for (const leaders of running.splice(0)) await leaders.stop();
});

/** Runs the node leaders until the end of the test. */
function lead(times: LeaderTimes = default_settings.leaders): { stop(): Promise<void> } {
  const leaders = leadNodes(api.app, times);
  running.push(leaders);
  return leaders;
}

const customer = "919800777900";

/** The person asks not to be called. */
async function optOut({ account_id }: TestAccount, phone = customer): Promise<void> {
  const now = api.clock.now();
  const suppression = {
    account_id,
    person: { phone },
    channel: "voice",
    scope: "all",
    source: "manual",
    reason: "opted out",
    evidence: null,
    occurred_at: now,
    expires_at: null,
    created_by: null,
  } as const;
  await api.app.db.query.transaction().execute((tx) => suppress(tx, suppression, now));
}

const roles = ({ legs }: { legs: { role: string }[] }) => legs.map(({ role }) => role);
const endings = ({ status, ended_reason }: { status: string; ended_reason: string | null }) => [
  status,
  ended_reason,
];

const fields = { to_number: customer.slice(2), from_number: "101" };

/** Places a call with a node leader, and returns its call record once it is canceled. */
async function canceledRecord(
  account: TestAccount,
  meanwhile: () => Promise<void> = async () => {},
  from_number = "101",
) {
  const client = await openCallClient(api, account);
  const campaign = await client.call({ ...fields, from_number });
  await meanwhile();
  lead();
  return client.awaitCall(campaign, "canceled");
}

test("does not call a customer who opts out while the agent's phone rings", async () => {
  const account = await makeCallingAccount(api.app);
  beforeAnswer = () => optOut(account);
  const record = await canceledRecord(account);
  assert.deepEqual(endings(record), ["canceled", "suppressed"]);
  assert.deepEqual([roles(record), record.cost], [["agent"], 1]);
});

test("does not call a customer who opts out while the dial waits for the switch", async () => {
  const account = await makeCallingAccount(api.app);
  const client = await openCallClient(api, account);
  beforeAnswer = async () => sendToLeader({ type: "disconnected", seen_at: api.clock.now() });
  const campaign = await client.call(fields);
  lead();
  await eventually(async () => roles((await client.callRecords(campaign))[0]).length === 2);
  await optOut(account);
  sendToLeader({ type: "connected", epoch });
  await assertNotCalled(await client.awaitCall(campaign, "canceled", "in-progress", "completed"));
});

/** Lets the customer call the account's own number, and waits until an agent talks to them; returns the call's ID. */
async function callIn({ account, ask }: CallClient, called: string): Promise<number> {
  await makePhoneNumber(api.app, account, called);
  const agent_group_id = await makeAgentGroup(api.app, account, ["103"]);
  const routed = await ask("PATCH", `/api/v1/phone-numbers/${called}`, { agent_group_id });
  assert.equal(routed.status, 200, routed.text);
  const node = { id: node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  void sandbox.receiveCall(node, { endpoint: "sandbox", from: `+${customer}`, to: called });
  let call_id = 0;
  await eventually(async () => {
    const { body } = await ask("GET", "/api/v1/calls?type=incoming&status=in-progress");
    call_id = body.data[0]?.call_id ?? 0;
    return call_id > 0;
  });
  return call_id;
}

test("does not call a customer who calls in while the agent's phone rings", async () => {
  const client = await openCallClient(api, await makeCallingAccount(api.app));
  let incoming = 0;
  beforeAnswer = async () => {
    beforeAnswer = async () => {};
    incoming = await callIn(client, "918000000950");
  };
  const campaign = await client.call(fields);
  lead();
  const record = await client.awaitCall(campaign, "canceled", "in-progress", "completed");
  assert.deepEqual(endings(record), ["canceled", "already_in_call"]);
  assert.deepEqual([roles(record), record.cost], [["agent"], 1]);
  const { body } = await client.ask("POST", `/api/v1/calls/${incoming}/hangup`);
  assert.equal(body.call_id, incoming);
});

test("does not call a customer who calls in while the dial waits", async () => {
  const client = await openCallClient(api, await makeCallingAccount(api.app));
  let incoming = 0;
  beforeRingback = async () => {
    beforeRingback = async () => {};
    incoming = await callIn(client, "918000000951");
  };
  const campaign = await client.call(fields);
  lead();
  const record = await client.awaitCall(campaign, "canceled", "in-progress", "completed");
  await assertNotCalled(record, ["agent", "customer"], "already_in_call");
  const { body } = await client.ask("POST", `/api/v1/calls/${incoming}/hangup`);
  assert.equal(body.call_id, incoming);
});

/** Places a call whose node leader stops before the customer's dial reaches the switch. */
async function callUntilDial(client: CallClient) {
  const reached = Promise.withResolvers<void>();
  beforeDial = async ({ leg }) => {
    if (!leg.endsWith("-2")) return;
    reached.resolve();
    // Never reaches the switch.
    await new Promise(() => {});
  };
  const campaign = await client.call(fields);
  const first = lead();
  await reached.promise;
  await first.stop();
  return campaign;
}

test("does not call a customer who opts out while a node leader has died before it dialed", async () => {
  const account = await makeCallingAccount(api.app);
  const client = await openCallClient(api, account);
  const campaign = await callUntilDial(client);
  await optOut(account);
  const { leaders: times } = default_settings;
  lead({ ...times, missing_ms: 100 });
  const record = await client.awaitCall(campaign, "canceled", "in-progress", "completed");
  await assertNotCalled(record, ["agent", "customer", "customer"]);
});

test("repeats a dial that never reached the switch, although that has the CDR of an earlier call of the same name", async () => {
  const client = await openCallClient(api, await makeCallingAccount(api.app));
  const campaign = await callUntilDial(client);
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  const [answered_at, ended_at] = [
    new Date("2020-01-01T10:00:00Z"),
    new Date("2020-01-01T10:05:00Z"),
  ];
  findCdrs = async (legs) => {
    const customers = legs.filter((leg) => leg.endsWith("-2"));
    return new Map(customers.map((leg) => [leg, { answered_at, ended_at, ending }]));
  };
  const { leaders: times } = default_settings;
  lead({ ...times, missing_ms: 100 });
  const record = await client.awaitCall(campaign, "in-progress", "completed", "canceled");
  assert.deepEqual(
    [record.status, roles(record)],
    ["in-progress", ["agent", "customer", "customer"]],
  );
  await client.ask("POST", `/api/v1/calls/${record.call_id}/hangup`);
  assert.equal((await client.awaitCall(campaign, "completed")).cost, 2);
});

/** Asserts that the call ended for this reason and the last leg, the customer's, was not dialed. */
async function assertNotCalled(
  record: Awaited<ReturnType<CallClient["awaitCall"]>>,
  expected = ["agent", "customer"],
  reason = "suppressed",
): Promise<void> {
  assert.deepEqual(endings(record), ["canceled", reason]);
  assert.deepEqual([roles(record), record.cost], [expected, 1]);
  const { status, blocker, ringing_at } = record.legs.at(-1);
  assert.deepEqual([status, blocker, ringing_at], ["canceled", reason, null]);
}

test("does not ring an agent's phone that is suppressed while its dial is repeated", async () => {
  const account = await makeCallingAccount(api.app);
  const agent = "919800777901";
  beforeDial = async () => {
    beforeDial = async () => {};
    await optOut(account, agent);
    throw new VoiceError("unreachable", "the switch could not be reached");
  };
  const record = await canceledRecord(account, async () => {}, agent.slice(2));
  assert.deepEqual(endings(record), ["canceled", "suppressed"]);
  assert.deepEqual([roles(record), record.legs[0].ringing_at, record.cost], [["agent"], null, 0]);
});

/** From the agent's answer on, keeps suppressions from being read. */
async function lockSuppressions(t: TestContext) {
  const { pool } = api.app.db;
  const locker = await pool.connect();
  t.after(() => locker.release(true));
  beforeRingback = async () => {
    await locker.query("begin; lock table suppressions in access exclusive mode");
  };
  const waiting = `from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%suppressions%'`;
  return {
    /** Waits until somebody reads them. */
    isAwaited: () =>
      eventually(async () => (await pool.query(`select ${waiting}`)).rows.length > 0),
    /** Ends the connections that read them. */
    endWaiting: () => pool.query(`select pg_terminate_backend(pid) ${waiting}`),
    unlock: () => locker.query("rollback"),
  };
}

test("checks the suppressions again if the database fails just before the customer is dialed", async (t) => {
  const client = await openCallClient(api, await makeCallingAccount(api.app));
  const lock = await lockSuppressions(t);
  const campaign = await client.call(fields);
  lead();
  await lock.isAwaited();
  await lock.endWaiting();
  await lock.unlock();
  const { call_id } = await client.awaitCall(campaign, "in-progress");
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await client.awaitCall(campaign, "completed");
});

test("does not ring the customer of a call that was hung up during the last check", async (t) => {
  const client = await openCallClient(api, await makeCallingAccount(api.app));
  const lock = await lockSuppressions(t);
  const dialed: string[] = [];
  beforeDial = async ({ leg }) => void dialed.push(leg.split("-").at(-1)!);
  const campaign = await client.call(fields);
  lead();
  await lock.isAwaited();
  const [{ call_id }] = await client.callRecords(campaign);
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await eventually(async () => (await client.callRecords(campaign))[0].legs[0].ended_at !== null);
  await lock.unlock();
  const record = await client.awaitCall(campaign, "canceled");
  assert.deepEqual([record.ended_reason, record.cost, dialed], ["hung_up_by_api", 1, ["1"]]);
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
  assert.deepEqual(endings(record), ["canceled", "night_window"]);
  assert.deepEqual(roles(record), ["agent"]);
});

/** Changes the account while the agent's phone rings, at 11:30 of its time; returns why the customer is not called. */
async function blockerAfter(change: (account: TestAccount) => Promise<unknown>): Promise<string> {
  const account = await makeCallingAccount(api.app);
  await setCalling(api.app, account, { night_calling: false, time_zone: "Asia/Kolkata" });
  api.clock.set("2026-11-02T06:00:00Z");
  beforeAnswer = async () => {
    beforeAnswer = async () => {};
    await change(account);
  };
  const client = await openCallClient(api, account);
  const campaign = await client.call(fields);
  const leaders = lead();
  const record = await client.awaitCall(campaign, "canceled", "in-progress", "completed");
  await leaders.stop();
  assert.deepEqual([roles(record), record.cost], [["agent"], 1]);
  return record.ended_reason;
}

test("does not call a customer whose time zone, calling window or country changes while the agent's phone rings", async () => {
  const { app } = api;
  const contact = { name: "Ada", phone: customer.slice(2), phone_e164: `+${customer}` };
  const moved = (account: TestAccount) =>
    makeContact(app, account, { ...contact, time_zone: "America/New_York" });
  assert.equal(await blockerAfter(moved), "night_window");
  const later = (account: TestAccount) => setCalling(app, account, { calling_from: "12:00" });
  assert.equal(await blockerAfter(later), "night_window");
  const nowhere = (account: TestAccount) => setCalling(app, account, { call_destinations: [] });
  assert.equal(await blockerAfter(nowhere), "destination_not_allowed");
});

test("does not dial a recipient outside the hours of a time zone that became known while the dial was repeated", async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  await setCalling(app, account, { night_calling: false, time_zone: "Asia/Kolkata" });
  api.clock.set("2026-11-02T06:00:00Z");
  const phone = "919800777951";
  beforeDial = async () => {
    beforeDial = async () => {};
    const contact = { name: "Ada", phone: phone.slice(2), phone_e164: `+${phone}` };
    await makeContact(app, account, { ...contact, time_zone: "America/New_York" });
    throw new VoiceError("unreachable", "the switch could not be reached");
  };
  const recipients = [{ number: phone.slice(2), phone }];
  const { id } = await makeVoiceCampaign(app, account, { campaign: { trunk_id }, recipients });
  const client = await openCallClient(api, account);
  lead();
  const read = async () =>
    (await client.ask("GET", `/api/v1/voice/campaigns/${id}/recipients`)).body.data[0];
  await eventually(async () => (await read()).ended_reason !== null);
  const { state, attempts, ended_reason, due_at, time_zones } = await read();
  assert.deepEqual([state, attempts, ended_reason], ["waiting", 0, "night_window"]);
  // 09:00 in New York.
  assert.deepEqual([due_at, time_zones], ["2026-11-02T14:00:00.000Z", ["America/New_York"]]);
});

test("does not place a call of an account that has lost the feature", async () => {
  const { db } = api.app;
  const account = await makeCallingAccount(api.app);
  const { account_id } = account;
  const client = await openCallClient(api, account);
  await client.call(fields);
  const accounts = db.query.updateTable("accounts").where("account_id", "=", account_id);
  await accounts.set({ features: [] }).execute();
  lead();
  const calls = db.query.selectFrom("calls").select(["stage", "status", "ended_reason"]);
  const readCall = () => calls.where("account_id", "=", account_id).executeTakeFirstOrThrow();
  await eventually(async () => (await readCall()).stage === "ended");
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
  lead();
  const campaign = await client.call(fields);
  await client.awaitCall(campaign, "in-progress");
  sendToLeader({ type: "disconnected", seen_at: clock.now() });
  clock.advance(36_000_000);
  isSwitchEmpty = true;
  sendToLeader({ type: "connected", epoch: "another" });
  const record = await client.awaitCall(campaign, "completed");
  isSwitchEmpty = false;
  assert.deepEqual([record.ended_reason, record.cost], ["node_lost", 2]);
});
