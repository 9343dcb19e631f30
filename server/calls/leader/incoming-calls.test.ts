// Incoming calls to accounts' phone numbers, with a node leader on the sandbox: menus, agent groups, refusals.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { checkCalls } from "../../../test/support/check-invariants.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makePhoneNumber,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { makeSuppression } from "../../../test/support/chat-factory.ts";
import {
  VoiceError,
  type VoiceDriver,
  type VoiceEvent,
  type VoiceNode,
} from "../../drivers/voice/driver.ts";

let fixture: CallFixture;
let other: CallClient;
let node: VoiceNode;
let leaders: { stop(): Promise<void> };

before(async () => {
  fixture = await openCallFixture({ through: asAsterisk });
  leaders = fixture.startLeaders();
  other = await openCallClient(fixture.api, await makeCallingAccount(fixture.app));
  node = { id: fixture.node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
});
after(() => fixture.close());

let answersFail = false;

/** Reports calls that wait since before the connection with the snapshot, as Asterisk does. */
function asAsterisk(driver: VoiceDriver): VoiceDriver {
  return {
    ...driver,
    open(of, onEvent, maySend) {
      const waiting: VoiceEvent[] = [];
      let isListed = false;
      const onHeld = (event: VoiceEvent) => {
        if (event.type === "incoming" && !isListed) waiting.push(event);
        else onEvent(event);
      };
      const session = driver.open(of, onHeld, maySend);
      return {
        ...session,
        async answer(channel, leg) {
          if (answersFail) throw new VoiceError("unreachable", "the switch cannot be reached");
          await session.answer(channel, leg);
        },
        async snapshot() {
          const listed = await session.snapshot();
          isListed = true;
          for (const event of waiting.splice(0)) onEvent(event);
          return listed;
        },
      };
    },
  };
}

let numbers = 0;

/** Assigns a new number to the account and routes it; returns it. */
async function numberOf(client: CallClient, route?: Record<string, unknown>): Promise<string> {
  numbers += 1;
  const number = `9180000001${String(numbers).padStart(2, "0")}`;
  await makePhoneNumber(fixture.app, client.account, number);
  if (!route) return number;
  const { status, text } = await client.ask("PATCH", `/api/v1/phone-numbers/${number}`, route);
  assert.equal(status, 200, text);
  return number;
}

async function menuOf(nodes: Record<string, unknown>): Promise<number> {
  const menu = { name: `menu ${(numbers += 1)}`, start: "main", nodes };
  const { status, body, text } = await fixture.ask("POST", "/api/v1/voice/menus", menu);
  assert.equal(status, 201, text);
  return body.id;
}

/** Calls a number and waits until the call is over. */
function callIn(to: string, from = "+919812345678"): Promise<void> {
  return fixture.sandbox.receiveCall(node, { endpoint: "sandbox", from, to });
}

/** Returns the account's call records of incoming calls to the number, newest first. */
async function records(client: CallClient, number: string) {
  const { body } = await client.ask("GET", `/api/v1/calls?number=%2B${number}`);
  return body.data;
}

/** Waits until the only call to the number has ended, and returns its record. */
async function ended(client: CallClient, number: string) {
  let found: Awaited<ReturnType<typeof records>> = [];
  await eventually(async () => {
    found = await records(client, number);
    return found.length > 0 && found.every(({ ended_at }: { ended_at: unknown }) => ended_at);
  });
  assert.equal(found.length, 1);
  return found[0];
}

async function missed(): Promise<unknown[]> {
  const rows = await fixture.app.db.query
    .selectFrom("events")
    .select(["account_id", "data"])
    .where("type", "=", "call.missed")
    .orderBy("id")
    .execute();
  return rows.map(({ account_id, data }) => [account_id, data]);
}

test("an incoming call is answered with the number's menu, follows its keys, and costs nothing", async () => {
  const { account } = fixture;
  const bye = { type: "hang_up", prompt: { say: "Bye", language: "en" } };
  const prompt = { say: "Press 1", language: "en" };
  const main = { type: "menu", prompt, keys: { "1": "bye" }, otherwise: "bye" };
  const number = await numberOf(fixture, { menu_id: await menuOf({ main, bye }) });
  const balance = async () => (await fixture.ask("GET", "/api/v1/credits")).body.call;
  const before_call = await balance();
  // Outside the calling window, and suppressed: neither concerns a person who calls.
  await setCalling(fixture.app, account, {
    night_calling: false,
    calling_from: "09:00",
    calling_to: "09:00",
  });
  await makeSuppression(fixture.app, account, "919812777701", { channel: "voice" });
  await callIn(`+${number}`, "+919812777701");
  await setCalling(fixture.app, account, { night_calling: true });
  const call = await ended(fixture, number);
  assert.deepEqual(
    [call.type, call.direction, call.from_number, call.to_number, call.status, call.disposition],
    ["incoming", "inbound", number, "9812777701", "completed", "answered"],
  );
  assert.deepEqual(
    [call.ended_reason, call.dtmf, call.cost, call.billed_seconds],
    ["menu_ended", "1", 0, 0],
  );
  const path = call.menu_path.map(({ node: name, key }: { node: string; key: string | null }) => [
    name,
    key,
  ]);
  assert.deepEqual(path, [
    ["main", null],
    ["main", "1"],
    ["bye", null],
  ]);
  assert.deepEqual(await balance(), before_call);
  assert.deepEqual(await records(other, number), []);
  const report = "/api/v1/reports/calls?group_by=number&type=incoming";
  const { body } = await fixture.ask("GET", report);
  assert.deepEqual(
    body.data.map((row: { caller_id: string; calls: number }) => [row.caller_id, row.calls]),
    [[number, 1]],
  );
  assert.deepEqual(await missed(), []);
});

test("an incoming call rings the agents of the number's group, the one idle longest, and connects the first to answer", async () => {
  const group = await makeAgentGroup(fixture.app, fixture.account, ["777480", "201"]);
  const number = await numberOf(fixture, { agent_group_id: group });
  const before_count = (await missed()).length;
  await setCalling(fixture.app, fixture.account, { agent_ring_seconds: 5 });
  await callIn(number);
  const call = await ended(fixture, number);
  assert.deepEqual(
    call.legs.map(({ role, number: of, status }: Record<string, string>) => [role, of, status]),
    [
      ["customer", "919812345678", "completed"],
      ["transfer", "777480", "no-answer"],
      ["transfer", "201", "completed"],
    ],
  );
  assert.deepEqual(
    [call.disposition, call.ended_reason, call.ended_by],
    ["answered", "hung_up", "customer"],
  );
  assert.deepEqual([call.cost, call.recording_url !== null], [0, true]);
  assert.equal((await missed()).length, before_count);
});

test("a caller who withholds the number reaches an agent on an extension", async () => {
  const group = await makeAgentGroup(fixture.app, fixture.account, ["204"]);
  const number = await numberOf(fixture, { agent_group_id: group });
  await callIn(number, "anonymous");
  const call = await ended(fixture, number);
  assert.deepEqual(
    call.legs.map(({ role, status }: Record<string, string>) => [role, status]),
    [
      ["customer", "completed"],
      ["transfer", "completed"],
    ],
  );
  assert.deepEqual([call.to_number, call.disposition], ["", "answered"]);
});

test("a call without a free agent counts as abandoned when its caller hangs up, and is reported as missed", async () => {
  const number = await numberOf(fixture, {
    agent_group_id: await makeAgentGroup(fixture.app, fixture.account),
  });
  const before_count = (await missed()).length;
  await callIn(number, "+919812777901");
  const call = await ended(fixture, number);
  assert.deepEqual(
    [call.disposition, call.ended_reason, call.ended_by],
    ["abandoned", "hung_up", "customer"],
  );
  const { account_id } = fixture.account;
  const data = { phone_number: "919812777901", called_number: number, trunk_id: fixture.trunk_id };
  assert.deepEqual((await missed()).slice(before_count), [[account_id, data]]);
});

test("an opt-out of a caller who withholds the number suppresses no one, and the call cannot be placed again", async () => {
  const prompt = { say: "We will not call again", language: "en" };
  const number = await numberOf(fixture, {
    menu_id: await menuOf({ main: { type: "opt_out", prompt } }),
  });
  await callIn(`+${number}`, "anonymous");
  const call = await ended(fixture, number);
  assert.deepEqual([call.opted_out, call.to_number], [true, ""]);
  const { body } = await fixture.ask("GET", "/api/v1/suppressions?source=dtmf");
  assert.deepEqual(body.data, []);
  const again = await fixture.ask("POST", `/api/v1/calls/${call.call_id}/retry`, {
    leg: "customer",
  });
  assert.deepEqual([again.status, again.body.type], [409, "conflict"]);
});

test("the dialed number decides the account of an endpoint of several accounts; a number without a route is refused and reported as missed there", async () => {
  const theirs = await numberOf(other);
  const before_count = (await missed()).length;
  await callIn(`0${theirs.slice(2)}`);
  await callIn("8999999999");
  const data = { phone_number: "919812345678", called_number: `0${theirs.slice(2)}` };
  assert.deepEqual((await missed()).slice(before_count), [
    [other.account.account_id, { ...data, trunk_id: fixture.trunk_id }],
  ]);
  assert.deepEqual(await records(other, theirs), []);
  const group = await makeAgentGroup(fixture.app, other.account, ["301"]);
  await other.ask("PATCH", `/api/v1/phone-numbers/${theirs}`, { agent_group_id: group });
  await callIn(theirs);
  const call = await ended(other, theirs);
  assert.deepEqual([call.direction, call.disposition], ["inbound", "answered"]);
  assert.deepEqual(await records(fixture, theirs), []);
});

test("an inactive node refuses incoming calls as missed while it finishes its live one, and is then released", async () => {
  const { app, account, node_id } = fixture;
  const group = await makeAgentGroup(app, account, ["205"]);
  const busy = await numberOf(fixture, { agent_group_id: group });
  const number = await numberOf(fixture, { menu_id: await menuOf({ main: { type: "hang_up" } }) });
  const setActive = async (active: boolean) => {
    const node_row = app.db.query.updateTable("voice_nodes").where("id", "=", node_id);
    await node_row.set({ active }).execute();
    app.notifications.send("call_work", `${node_id}:0`);
  };
  const isConnected = async () => {
    const node_row = app.db.query.selectFrom("voice_nodes").where("id", "=", node_id);
    return (await node_row.select("connected_at").executeTakeFirstOrThrow()).connected_at !== null;
  };
  // A caller who never hangs up.
  const over = callIn(busy, "+919812777900");
  const live = async () => (await records(fixture, busy))[0];
  await eventually(async () => (await live())?.legs.length === 2 && (await live()).answered_at);
  const before_count = (await missed()).length;
  await setActive(false);
  try {
    await eventually(async () => {
      await callIn(number);
      return (await missed()).length > before_count;
    });
    const answered = (await records(fixture, number)).length;
    const refused = (await missed()).length;
    await callIn(number);
    assert.equal((await missed()).length, refused + 1);
    assert.equal((await records(fixture, number)).length, answered);
    assert.equal((await live()).ended_at, null);
    const { call_id } = await live();
    assert.equal((await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
    await over;
    await eventually(async () => !(await isConnected()));
  } finally {
    await setActive(true);
  }
  await eventually(isConnected);
});

test("a call that arrives while no leader is connected is answered by the next one, once", async () => {
  const number = await numberOf(fixture, {
    agent_group_id: await makeAgentGroup(fixture.app, fixture.account, ["202"]),
  });
  await leaders.stop();
  const over = callIn(number);
  leaders = fixture.startLeaders();
  await over;
  assert.equal((await ended(fixture, number)).disposition, "answered");
});

test("a call whose leader ended before the answer keeps its place and is answered by the next one, without a missed call", async () => {
  const { app, trunk_id } = fixture;
  const group = await makeAgentGroup(app, fixture.account, ["206"]);
  const number = await numberOf(fixture, { agent_group_id: group });
  const setPlaces = (calls_max: number) =>
    app.db.query
      .updateTable("trunk_nodes")
      .set({ calls_max })
      .where("trunk_id", "=", trunk_id)
      .execute();
  const before_count = (await missed()).length;
  await leaders.stop();
  await setPlaces(1);
  answersFail = true;
  leaders = fixture.startLeaders();
  const over = callIn(number);
  try {
    await eventually(async () => (await records(fixture, number)).length === 1);
    await leaders.stop();
    answersFail = false;
    leaders = fixture.startLeaders();
    await over;
    assert.equal((await ended(fixture, number)).disposition, "answered");
    assert.deepEqual((await missed()).slice(before_count), []);
  } finally {
    answersFail = false;
    await setPlaces(10_000);
  }
});

test("a number is routed to a menu or an agent group of its account, not to a menu that promises callbacks", async () => {
  const number = await numberOf(fixture);
  const path = `/api/v1/phone-numbers/${number}`;
  const bye = { type: "hang_up" };
  const menu_id = await menuOf({ main: bye });
  const promises = await menuOf({ main: { type: "callback", delay_minutes: 5 } });
  const agent_group_id = await makeAgentGroup(fixture.app, fixture.account);
  const foreign = await makeAgentGroup(fixture.app, other.account);
  for (const [json, fields] of [
    [{}, ["body"]],
    [{ menu_id: 2 ** 50 }, ["menu_id"]],
    [{ menu_id: promises }, ["menu_id"]],
    [{ agent_group_id: foreign }, ["agent_group_id"]],
    [{ menu_id, agent_group_id }, ["agent_group_id"]],
  ] as const)
    assert.deepEqual(failingFields(await fixture.ask("PATCH", path, json)), fields);
  assert.equal((await other.ask("PATCH", path, { agent_group_id: foreign })).status, 404);
  assert.equal((await fixture.ask("PATCH", path, { agent_group_id })).status, 200);
  const routed = await fixture.ask("PATCH", path, { menu_id });
  assert.deepEqual([routed.body.menu_id, routed.body.agent_group_id], [menu_id, null]);
  const menu = `/api/v1/voice/menus/${menu_id}`;
  assert.equal((await fixture.ask("DELETE", menu)).status, 409);
  assert.equal((await fixture.ask("PATCH", path, { menu_id: null })).status, 200);
  assert.equal((await fixture.ask("DELETE", menu)).status, 204);
});

test("a customer who did not answer can call the caller ID back; the sandbox simulates it", async () => {
  const { app, trunk_id } = fixture;
  const number = await numberOf(fixture, {
    agent_group_id: await makeAgentGroup(app, fixture.account, ["203"]),
  });
  const caller_ids = [number.slice(2)];
  await app.db.query.updateTable("trunks").set({ caller_ids }).where("id", "=", trunk_id).execute();
  const id = await fixture.call({ from_number: "101", to_number: "9812777800" });
  const call = await fixture.awaitCall(id, "no-answer");
  assert.equal(call.ended_reason, "customer_no_answer");
  const back = await ended(fixture, number);
  assert.deepEqual([back.to_number, back.disposition], ["9812777800", "answered"]);
  await checkCalls(app.db.pool);
});
