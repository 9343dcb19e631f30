// Hang up, transfer and retry of calls over the API, without a node leader.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeCallingAccount,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { failed, makeCall, type CallToMake } from "../../../test/support/call-factory.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { endOverdueCalls, late_ms_max } from "./end-overdue-calls.ts";
import { findCredits } from "../../credits/credits.ts";

let api: TestApi;
let place: { node_id: number; trunk_id: number };
before(async () => {
  api = await startApi();
  const node_id = await makeNode(api.app);
  place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
});
after(async () => {
  await checkLedger(api.app.db.pool);
  await api.close();
});

type Fixture = Awaited<ReturnType<typeof openFixture>>;

async function openFixture(credits = 100) {
  const { app } = api;
  const account = await makeCallingAccount(app, { credits });
  const { account_id } = account;
  const rows = (table: "call_commands" | "audit_entries" | "events" | "suppressions") =>
    app.db.query.selectFrom(table).selectAll().where("account_id", "=", account_id);
  return {
    account,
    account_id,
    make: (call: CallToMake = {}) => makeCall(app, account, { place, ...call }),
    post: (path: string, json?: unknown, headers: Record<string, string> = {}) =>
      api.send("POST", `/api/v1/calls/${path}`, { token: account.token, json, headers }),
    commands: () => rows("call_commands").orderBy("id").execute(),
    /** The events of calls, without `credit.low`. */
    events: async () =>
      (await rows("events").where("type", "like", "call.%").orderBy("id").execute()).map(
        ({ type, data }) => ({ type, data }),
      ),
    audit: async () => {
      const found = await rows("audit_entries").orderBy("id").execute();
      return found.filter(({ user_id }) => user_id !== null).map(({ action }) => action);
    },
    blocks: async () =>
      (await rows("suppressions").execute()).map(({ phone, source }) => [phone, source]),
    credit: async () => (await findCredits(app.db.query, account_id)).call,
  };
}

/** Returns the subjects of this channel's notifications while `work` runs. */
async function notificationsOf(
  channel: "call_work" | "call_command",
  work: () => Promise<unknown>,
) {
  const received: string[] = [];
  let isOn = true;
  api.app.notifications.on(channel, (subject) => void (isOn && received.push(subject)));
  await work();
  isOn = false;
  return received;
}

const live = { stage: "talking", status: "in-progress" };

test("a hang-up ends a queued call at once, releases its credit and records the event", async () => {
  const fixture = await openFixture();
  const { id, campaign_id } = await fixture.make({ asked: { reference: "order-7" } });
  assert.deepEqual(await fixture.credit(), { available: 98, reserved: 2 });
  const answer = await fixture.post(`${id}/hangup`);
  assert.equal(answer.status, 200, answer.text);
  const { status, disposition, ended_reason, ended_by, cost, ended_at, initiated_at } = answer.body;
  assert.deepEqual(
    { status, disposition, ended_reason, ended_by, cost, initiated_at },
    {
      status: "canceled",
      disposition: "canceled",
      ended_reason: "hung_up_by_api",
      ended_by: "api",
      cost: 0,
      initiated_at: null,
    },
  );
  assert.ok(ended_at);
  assert.deepEqual(await fixture.credit(), { available: 100, reserved: 0 });
  const [event, ...others] = await fixture.events();
  assert.deepEqual(others, []);
  assert.equal(event!.type, "call.completed");
  const { call_id, campaign_id: campaign, reference } = event!.data as Record<string, unknown>;
  assert.deepEqual([call_id, campaign, reference], [id, campaign_id, "order-7"]);
  assert.deepEqual(await fixture.commands(), []);
  assert.deepEqual(await fixture.audit(), ["call.hung_up"]);
  assert.equal((await fixture.post(`${id}/hangup`)).status, 409);
});

test("a call that was ended by request names the user who did, and no other call does", async () => {
  const { account, make, post } = await openFixture();
  const read = async (id: number) =>
    (await api.send("GET", `/api/v1/calls/${id}`, { token: account.token })).body.ended_by_user;
  const { id } = await make();
  const other = await make({
    call: { stage: "ended", status: "canceled", ended_reason: "too_late", ended_at: new Date() },
  });
  assert.equal((await post(`${id}/hangup`)).status, 200);
  const user = await read(id);
  assert.deepEqual([user.id, typeof user.name], [account.owner_id, "string"]);
  assert.equal(await read(other.id), null);
});

test("a hang-up of a live call becomes a command to its node's leader, who is notified", async () => {
  const fixture = await openFixture();
  const { id, node_id } = await fixture.make({ call: { stage: "customer", status: "ringing" } });
  const notified = await notificationsOf("call_command", async () => {
    const answer = await fixture.post(`${id}/hangup`);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.status, "ringing");
  });
  assert.deepEqual(notified, [String(node_id)]);
  const [command, ...others] = await fixture.commands();
  assert.deepEqual(others, []);
  const { call_id, kind, target, requested_by } = command!;
  assert.deepEqual(
    { call_id, node_id: command!.node_id, kind, target, requested_by },
    { call_id: id, node_id, kind: "hangup", target: null, requested_by: fixture.account.owner_id },
  );
  assert.deepEqual(await fixture.events(), []);
});

test("a hang-up does not change a call that is already ending", async () => {
  const fixture = await openFixture();
  const { id } = await fixture.make({ call: { stage: "ending", status: "completed" } });
  assert.equal((await fixture.post(`${id}/hangup`)).status, 200);
  assert.deepEqual(await fixture.commands(), []);
  assert.deepEqual(await fixture.audit(), []);
});

test("a hang-up during the leader's claim of the call waits for the claim and becomes a command", async () => {
  const fixture = await openFixture();
  const { id } = await fixture.make();
  const leader = await api.app.db.pool.connect();
  try {
    await leader.query("begin");
    await claim(leader, fixture);
    const answer = fixture.post(`${id}/hangup`);
    await awaitsLock(api.app.db.query);
    await leader.query("commit");
    assert.equal((await answer).status, 200);
  } finally {
    leader.release();
  }
  assert.equal((await fixture.commands()).length, 1);
  assert.deepEqual(await fixture.credit(), { available: 98, reserved: 2 });
});

test("calls that are hung up while a leader claims them are each either canceled or commanded, never both", async () => {
  const fixture = await openFixture();
  const calls = await Promise.all(Array.from({ length: 20 }, () => fixture.make()));
  const answers = calls.map(({ id }) => fixture.post(`${id}/hangup`));
  const claims = calls.map(() => claim(api.app.db.pool, fixture, 1));
  await Promise.all([...answers, ...claims]);
  const commanded = (await fixture.commands()).map(({ call_id }) => call_id);
  const stages = await api.app.db.query
    .selectFrom("calls")
    .select(["id", "stage"])
    .where("account_id", "=", fixture.account_id)
    .execute();
  for (const { id, stage } of stages)
    assert.equal(commanded.includes(id), stage === "agent", `${id} ${stage}`);
  const ended = stages.filter(({ stage }) => stage === "ended");
  assert.equal((await fixture.events()).length, ended.length);
  assert.equal(ended.length + commanded.length, 20);
});

function claim(by: Pick<TestApi["app"]["db"]["pool"], "query">, fixture: Fixture, take = 10) {
  return by.query("select * from claim_calls($1, $2, $3, 1, $4, $5)", [
    fixture.account_id,
    place.node_id,
    place.trunk_id,
    take,
    api.clock.now(),
  ]);
}

test("a transfer of a call in progress to an extension of the account becomes a command to the leader", async () => {
  const fixture = await openFixture();
  const node_id = await makeNode(api.app, { driver: "asterisk" });
  const trunk_id = await makeTrunk(api.app, [node_id]);
  await makeExtension(api.app, fixture.account, "102");
  const { id } = await fixture.make({ call: live, place: { node_id, trunk_id } });
  const unknown = await fixture.post(`${id}/transfer`, { extension: "999" });
  assert.equal(unknown.status, 422, unknown.text);
  assert.deepEqual(failingFields(unknown), ["extension"]);
  const notified = await notificationsOf("call_command", async () => {
    const answer = await fixture.post(`${id}/transfer`, { extension: "102" });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.call_id, id);
  });
  assert.deepEqual(notified, [String(node_id)]);
  assert.deepEqual(
    (await fixture.commands()).map(({ kind, target }) => [kind, target]),
    [["transfer", "102"]],
  );
  assert.deepEqual(await fixture.audit(), ["call.transferred"]);
  for (const stage of ["queued", "customer", "ending", "ended"]) {
    const other = await fixture.make({ call: { stage }, place: { node_id, trunk_id } });
    const refused = await fixture.post(`${other.id}/transfer`, { extension: "102" });
    assert.equal(refused.status, 409, stage);
    assert.equal(refused.body.type, "conflict");
  }
});

test("the sandbox accepts every extension, but no invalid one", async () => {
  const fixture = await openFixture();
  const { id } = await fixture.make({ call: live });
  assert.equal((await fixture.post(`${id}/transfer`, { extension: "4711" })).status, 200);
  for (const extension of ["1", "1234567", "10a", "", 102, null]) {
    const answer = await fixture.post(`${id}/transfer`, { extension });
    assert.equal(answer.status, 422, String(extension));
    assert.deepEqual(failingFields(answer), ["extension"]);
  }
});

const no_agent = { call: failed };
const no_customer = {
  call: { ...failed, ended_reason: "customer_no_answer" },
  legs: [
    { role: "agent", answered_at: new Date(0) },
    { role: "customer", number: "919876543210", status: "no-answer" },
  ],
};

test("a retry of the agent queues the campaign's next call, reserves its credit and notifies the leader", async () => {
  const fixture = await openFixture();
  const { id, campaign_id, node_id } = await fixture.make({
    ...no_agent,
    asked: { reference: "order-7" },
  });
  const notified = await notificationsOf("call_work", async () => {
    const answer = await fixture.post(`${id}/retry`, { leg: "agent" });
    assert.equal(answer.status, 201, answer.text);
    const { call_id, attempt, status, reference } = answer.body;
    assert.notEqual(call_id, id);
    assert.deepEqual(
      [answer.body.campaign_id, attempt, status, reference],
      [campaign_id, 2, "queued", "order-7"],
    );
    assert.equal(answer.body.from_number, "101");
    const again = await fixture.post(`${id}/retry`, { leg: "agent" });
    assert.equal(again.status, 409);
    assert.match(again.body.detail, new RegExp(`Call ${call_id} .* has not ended`));
  });
  assert.deepEqual(notified, [`${node_id}:${fixture.account_id}`]);
  assert.deepEqual(await fixture.credit(), { available: 98, reserved: 2 });
  assert.deepEqual(await fixture.audit(), ["call.retried"]);
});

test("only the party that a call failed on can be retried", async () => {
  const fixture = await openFixture();
  const agent = await fixture.make(no_agent);
  const asked = { role: "agent", answered_at: new Date(0), status: "no-answer" } as const;
  const voicemail = await fixture.make({
    ...no_agent,
    legs: [{ ...asked, outcome: "no_answer" }],
  });
  const lost_voicemail = await fixture.make({ ...no_agent, legs: [{ ...asked, outcome: "lost" }] });
  const crossing = { role: "agent", answered_at: new Date(0), status: "canceled" } as const;
  const crossed = await fixture.make({ ...no_agent, legs: [crossing] });
  const customer = await fixture.make(no_customer);
  const talked = await fixture.make({
    call: { ...failed, status: "completed", answered_at: new Date(0) },
    legs: no_customer.legs,
  });
  const waiting = await fixture.make();
  const in_progress = await fixture.make({ call: live });
  for (const [call, leg, status] of [
    [agent, "customer", 409],
    [agent, "agent", 201],
    [voicemail, "customer", 409],
    [voicemail, "agent", 201],
    [lost_voicemail, "customer", 409],
    [lost_voicemail, "agent", 201],
    [crossed, "customer", 409],
    [crossed, "agent", 201],
    [customer, "agent", 409],
    [customer, "customer", 201],
    [talked, "agent", 409],
    [talked, "customer", 409],
    [waiting, "agent", 409],
    [in_progress, "customer", 409],
  ] as const) {
    const answer = await fixture.post(`${call.id}/retry`, { leg });
    assert.equal(answer.status, status, `${leg} ${answer.text}`);
    if (status === 409) assert.equal(answer.body.type, "conflict");
  }
  for (const json of [{}, { leg: "both" }, { leg: null }])
    assert.equal((await fixture.post(`${agent.id}/retry`, json)).status, 422);
});

test("each leg has its own limit of retries, and concurrent retries are counted exactly", async () => {
  const fixture = await openFixture();
  const { id, campaign_id } = await fixture.make({
    ...no_agent,
    asked: { agent_retry_count: 2, customer_retry_count: 1 },
  });
  const { account_id } = fixture;
  const endAll = () =>
    api.app.db.query
      .updateTable("calls")
      .set(failed)
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign_id)
      .execute();
  for (let round = 0; round < 2; round++) {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => fixture.post(`${id}/retry`, { leg: "agent" })),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 4);
    await endAll();
  }
  const beyond = await fixture.post(`${id}/retry`, { leg: "agent" });
  assert.equal(beyond.status, 409);
  assert.match(beyond.body.detail, /retried 2 times/);
  await api.app.db.query
    .insertInto("call_legs")
    .values({
      account_id,
      call_id: id,
      id: 1,
      role: "agent",
      number: "101",
      on_trunk: false,
      state: "ended",
      status: "completed",
      initiated_at: new Date(0),
      answered_at: new Date(0),
    })
    .execute();
  assert.equal((await fixture.post(`${id}/retry`, { leg: "customer" })).status, 201);
  await endAll();
  assert.equal((await fixture.post(`${id}/retry`, { leg: "customer" })).status, 409);
});

test("the leg is decided by the last attempt that dialed one, whichever call of the campaign is retried", async () => {
  const fixture = await openFixture();
  const first = await fixture.make({
    ...no_agent,
    asked: { customer_retry_count: 1 },
    legs: [{ role: "agent", status: "no-answer" }],
  });
  const { account_id } = fixture;
  const update = (id: number) =>
    api.app.db.query
      .updateTable("calls")
      .set(no_customer.call)
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
  const leg = { account_id, on_trunk: false, state: "ended", number: "101" } as const;
  const made = { ...leg, initiated_at: new Date(0), status: "completed" } as const;
  /** Retries a call, and ends the retry because the customer did not answer, or before a leg was dialed. */
  const retry = async (id: number, json: { leg: string }, isDialed: boolean) => {
    const answer = await fixture.post(`${id}/retry`, json);
    assert.equal(answer.status, 201, answer.text);
    const { call_id } = answer.body;
    if (isDialed)
      await api.app.db.query
        .insertInto("call_legs")
        .values([
          { ...made, call_id, id: 1, role: "agent", answered_at: new Date(0) },
          { ...made, call_id, id: 2, role: "customer" },
        ])
        .execute();
    await update(call_id);
    return call_id as number;
  };
  const second = await retry(first.id, { leg: "agent" }, true);
  for (const id of [first.id, second])
    assert.equal((await fixture.post(`${id}/retry`, { leg: "agent" })).status, 409);
  const third = await retry(second, { leg: "customer" }, false);
  for (const id of [first.id, second, third])
    for (const json of [{ leg: "agent" }, { leg: "customer" }])
      assert.equal((await fixture.post(`${id}/retry`, json)).status, 409, `${id} ${json.leg}`);
});

test("a retry is 403 outside the calling window and 409 without credit, and has no effect", async () => {
  const fixture = await openFixture(1);
  const { id } = await fixture.make(no_agent);
  const poor = await fixture.post(`${id}/retry`, { leg: "agent" });
  assert.equal(poor.status, 409, poor.text);
  assert.equal(poor.body.type, "insufficient-credit");
  const never = { night_calling: false, calling_from: "09:00", calling_to: "09:00" };
  await setCalling(api.app, fixture.account, never);
  const late = await fixture.post(`${id}/retry`, { leg: "agent" });
  assert.equal(late.status, 403, late.text);
  assert.equal(late.body.type, "forbidden");
  assert.match(late.body.detail, /outside its calling window, 09:00 to 09:00/);
  assert.deepEqual(await fixture.credit(), { available: 1, reserved: 0 });
  assert.deepEqual(await fixture.audit(), []);
});

test("a retry is 409 once the node of the call has been deleted, and has no effect", async () => {
  const fixture = await openFixture();
  const node_id = await makeNode(api.app);
  const trunk_id = await makeTrunk(api.app, [node_id]);
  const { id } = await fixture.make({ ...no_agent, place: { node_id, trunk_id } });
  await deleteNode(node_id);
  const gone = await fixture.post(`${id}/retry`, { leg: "agent" });
  assert.equal(gone.status, 409, gone.text);
  assert.match(gone.body.detail, /node of the call has been deleted/);
  assert.deepEqual(await fixture.credit(), { available: 100, reserved: 0 });
  assert.deepEqual(await fixture.audit(), []);
});

test("a retry is 409 once the trunk of the call is inactive or deleted, and has no effect", async () => {
  const fixture = await openFixture();
  const node_id = await makeNode(api.app);
  const trunk_id = await makeTrunk(api.app, [node_id], { active: false });
  const { id } = await fixture.make({ ...no_agent, place: { node_id, trunk_id } });
  const refusal = async () => {
    const { status, body } = await fixture.post(`${id}/retry`, { leg: "agent" });
    return [status, body.detail];
  };
  const expected = [
    409,
    "The trunk of the call is inactive or deleted, so the call cannot be retried; place a new call",
  ];
  assert.deepEqual(await refusal(), expected);
  await api.app.db.query.deleteFrom("trunks").where("id", "=", trunk_id).execute();
  assert.deepEqual(await refusal(), expected);
  assert.deepEqual(await fixture.credit(), { available: 100, reserved: 0 });
  assert.deepEqual(await fixture.audit(), []);
});

test("a call that was queued while its node was deleted ends as too late after an hour, and its credit is released", async () => {
  const fixture = await openFixture();
  const node_id = await makeNode(api.app);
  const trunk_id = await makeTrunk(api.app, [node_id]);
  await fixture.make({ place: { node_id, trunk_id } });
  await deleteNode(node_id);
  assert.equal(await endOverdueCalls(api.app), 0);
  api.clock.advance(late_ms_max + 1);
  await endOverdueCalls(api.app);
  const [event] = await fixture.events();
  assert.equal((event!.data as Record<string, unknown>)["ended_reason"], "too_late");
  assert.deepEqual(await fixture.credit(), { available: 100, reserved: 0 });
});

test("an automatic retry that is hung up or not placed in time blocks the customer for auto_block_time", async () => {
  const made = {
    asked: { max_retry: 1, auto_block_minutes: 60 },
    call: { attempt: 2 },
  };
  const block = [["919876543210", "auto_block"]];
  const hung_up = await openFixture();
  const { id } = await hung_up.make(made);
  assert.equal((await hung_up.post(`${id}/hangup`)).status, 200);
  assert.deepEqual(await hung_up.blocks(), block);

  const late = await openFixture();
  await late.make(made);
  const first = await openFixture();
  await first.make({ ...made, call: {} });
  api.clock.advance(late_ms_max + 1);
  await endOverdueCalls(api.app);
  assert.deepEqual(await late.blocks(), block);
  assert.deepEqual(await first.blocks(), [], "the customer was not called");
});

function deleteNode(id: number) {
  return api.app.db.query.deleteFrom("voice_nodes").where("id", "=", id).execute();
}

test("a control repeated under its idempotency key returns the same response and has no second effect", async () => {
  const fixture = await openFixture();
  const ended = await fixture.make(no_agent);
  const talking = await fixture.make({ call: live });
  const waiting = await fixture.make();
  const requests: [string, unknown][] = [
    [`${ended.id}/retry`, { leg: "agent" }],
    [`${talking.id}/transfer`, { extension: "102" }],
    [`${waiting.id}/hangup`, undefined],
  ];
  for (const [path, json] of requests) {
    const key = { "idempotency-key": path };
    const first = await fixture.post(path, json, key);
    const second = await fixture.post(path, json, key);
    assert.ok(first.status < 300, first.text);
    assert.deepEqual([second.status, second.text], [first.status, first.text]);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
  }
  assert.equal((await fixture.commands()).length, 1);
  assert.equal((await fixture.audit()).length, 3);
});

test("every control returns 404 for calls of another account", async () => {
  const [mine, theirs] = [await openFixture(), await openFixture()];
  const { id } = await theirs.make(no_agent);
  for (const [path, json] of [
    [`${id}/hangup`, undefined],
    [`${id}/transfer`, { extension: "102" }],
    [`${id}/retry`, { leg: "agent" }],
  ] as const)
    assert.equal((await mine.post(path, json)).status, 404, path);
});
