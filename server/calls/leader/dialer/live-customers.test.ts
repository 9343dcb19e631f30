// One live call per customer, and the limit of calls per customer and day, across campaigns and click-to-calls.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { openCallClient, type CallClient } from "../../../../test/support/call-client.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makePhoneNumber,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { makeContact } from "../../../../test/support/crm-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());

/** Opens an account of its own, with this limit of calls per customer and day. */
async function openClient(calls_per_customer_day: number | null = null): Promise<CallClient> {
  const account = await makeCallingAccount(fixture.app);
  await setCalling(fixture.app, account, { calls_per_customer_day });
  return openCallClient(fixture.api, account);
}

/** Launches a campaign with one recipient and returns its path. */
async function launch(
  { account }: CallClient,
  phone: string,
  more: { recipient?: Record<string, unknown>; campaign?: Record<string, unknown> } = {},
): Promise<string> {
  const { app, trunk_id } = fixture;
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id, ...more.campaign },
    recipients: [{ number: phone.slice(-10), phone, ...more.recipient }],
  });
  app.notifications.send("voice_work", String(trunk_id));
  return `/api/v1/voice/campaigns/${id}`;
}

const statusOf = async (client: CallClient, path: string) => (await client.ask("GET", path)).body;
const recipientOf = async (client: CallClient, path: string) =>
  (await client.ask("GET", `${path}/recipients`)).body.data[0];

/** Waits until the campaign's recipient waits for a later time, and returns the recipient. */
async function deferred(client: CallClient, path: string) {
  await eventually(
    async () => new Date((await recipientOf(client, path)).due_at) > fixture.api.clock.now(),
  );
  return recipientOf(client, path);
}

const daysAgo = (days: number) => new Date(fixture.api.clock.now().getTime() - days * 86_400_000);

/** Passes this time, and wakes the node leaders for what is due then. */
async function passMinutes(minutes: number): Promise<void> {
  fixture.api.clock.advance(minutes * 60_000);
  fixture.app.notifications.send("voice_work", String(fixture.trunk_id));
}

const ended = (client: CallClient, path: string) =>
  eventually(async () => (await statusOf(client, path)).pending === 0);

test("never has two calls with one customer at once, across campaigns, click-to-calls and spellings of the number", async () => {
  const client = await openClient();
  await fixture.app.db.query
    .updateTable("accounts")
    .set({ country_code: "55" })
    .where("account_id", "=", client.account.account_id)
    .execute();
  // Talks until another party hangs up; with the ninth digit, and without.
  const [long, short] = ["5551987777900", "555187777900"];
  const talking = await client.call({ to_number: short.slice(2), from_number: "101" });
  const live = await client.awaitCall(talking, "in-progress");
  const [first, second] = [await launch(client, long), await launch(client, short)];
  const again = await client.call({ to_number: short.slice(2), from_number: "102" });
  const { ended_reason, cost } = await client.awaitCall(again, "canceled");
  assert.deepEqual([ended_reason, cost], ["already_in_call", 0]);
  for (const path of [first, second]) {
    const { state, attempts } = await deferred(client, path);
    assert.deepEqual([state, attempts], ["waiting", 0]);
  }
  await client.ask("POST", `/api/v1/calls/${live.call_id}/hangup`);
  await client.awaitCall(talking, "completed");
  for (const path of [first, second]) await client.ask("POST", `${path}/cancel`);
  // Another account's customer is another person's.
  const other = await openClient();
  const theirs = await other.call({ to_number: "9800777900", from_number: "101" });
  await other.awaitCall(theirs, "in-progress");
  const [call] = await other.callRecords(theirs);
  await other.ask("POST", `/api/v1/calls/${call.call_id}/hangup`);
  await other.awaitCall(theirs, "completed");
});

test("does not count a leg that was never dialed toward the limit of a day", async () => {
  const client = await openClient(1);
  const place = () => client.call({ to_number: "9807777404", from_number: "101" });
  await client.awaitCall(await place(), "failed");
  await fixture.app.db.pool.query(
    "update call_legs set outcome = 'unplaced' where account_id = $1 and role = 'customer'",
    [client.account.account_id],
  );
  await client.awaitCall(await place(), "failed");
  const { ended_reason } = await client.awaitCall(await place(), "canceled");
  assert.equal(ended_reason, "calls_per_customer_day");
});

test("counts a call that was scheduled more than a month before toward the limit of a day", async () => {
  const client = await openClient(1);
  const place = () => client.call({ to_number: "9804777404", from_number: "101" });
  await client.awaitCall(await place(), "failed");
  await fixture.app.db.pool.query("update calls set queued_at = $2 where account_id = $1", [
    client.account.account_id,
    daysAgo(40),
  ]);
  const { ended_reason } = await client.awaitCall(await place(), "canceled");
  assert.equal(ended_reason, "calls_per_customer_day");
});

test("calls a recipient who was on another call a minute later", async () => {
  const client = await openClient();
  const talking = await client.call({ to_number: "9801777900", from_number: "101" });
  const live = await client.awaitCall(talking, "in-progress");
  const path = await launch(client, "919801777900");
  await deferred(client, path);
  await client.ask("POST", `/api/v1/calls/${live.call_id}/hangup`);
  await client.awaitCall(talking, "completed");
  fixture.api.clock.advance(60_000);
  await eventually(async () => (await recipientOf(client, path)).attempts === 1);
  const { call_id } = await recipientOf(client, path);
  await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  await ended(client, path);
});

/** Lets a customer call in during our call to them, hangs one of both up, and launches calls to them. */
async function endsOneOfBoth(
  phone: string,
  called: string,
  { isFirst, scheduled_days = 0 }: { isFirst: "outbound" | "inbound"; scheduled_days?: number },
) {
  const { app, sandbox, node_id } = fixture;
  const client = await openClient();
  // Talks until another party hangs up.
  await makePhoneNumber(app, client.account, called);
  const agent_group_id = await makeAgentGroup(app, client.account, ["103"]);
  await client.ask("PATCH", `/api/v1/phone-numbers/${called}`, { agent_group_id });
  const outbound = await client.call({ to_number: phone.slice(2), from_number: "101" });
  const { call_id } = await client.awaitCall(outbound, "in-progress");
  const hangUp = (id: number) => client.ask("POST", `/api/v1/calls/${id}/hangup`);
  const node = { id: node_id, name: "sandbox", ari: null, cdr_path: null, sounds_dir: null };
  const over = sandbox.receiveCall(node, { endpoint: "sandbox", from: `+${phone}`, to: called });
  let inbound = 0;
  await eventually(async () => {
    const { body } = await client.ask("GET", "/api/v1/calls?type=incoming&status=in-progress");
    inbound = body.data[0]?.call_id ?? 0;
    return inbound > 0;
  });
  await app.db.pool.query("update calls set queued_at = $3 where account_id = $1 and id = $2", [
    client.account.account_id,
    call_id,
    daysAgo(scheduled_days),
  ]);
  const inOrder = isFirst === "outbound" ? [call_id, inbound] : [inbound, call_id];
  const hasEnded = async (id: number) => {
    await hangUp(id);
    await eventually(async () => {
      const { body } = await client.ask("GET", `/api/v1/calls/${id}`);
      return body.status === "completed";
    });
  };
  await hasEnded(inOrder[0]);

  const path = await launch(client, phone);
  assert.equal((await deferred(client, path)).attempts, 0);
  await hasEnded(inOrder[1]);
  await over;
  fixture.api.clock.advance(60_000);
  await eventually(async () => (await recipientOf(client, path)).attempts === 1);
  await ended(client, path);
}

test("does not call a customer who called in during our call to them, until that call has ended", () =>
  endsOneOfBoth("919806777900", "918000000900", { isFirst: "outbound" }));

test("does not call a customer whose own call ended during our call to them, until ours has ended", () =>
  endsOneOfBoth("919805777900", "918000000901", { isFirst: "inbound" }));

test("does not call a customer whose own call ended during our call to them that was scheduled more than a month before", () =>
  endsOneOfBoth("919803777900", "918000000902", { isFirst: "inbound", scheduled_days: 40 }));

test("skips a recipient who was called as often as the account allows in a day, with the reason, and calls them a day later", async () => {
  const client = await openClient(2);
  const [number, phone] = ["9802777404", "919802777404"];
  await ended(client, await launch(client, phone));
  await client.awaitCall(await client.call({ to_number: number, from_number: "101" }), "failed");
  const path = await launch(client, phone);
  await ended(client, path);
  const { skipped, attempts, total, pending } = await statusOf(client, path);
  assert.deepEqual([skipped, attempts, total, pending], [1, 0, 1, 0]);
  const [recipient] = (await client.ask("GET", `${path}/recipients?state=skipped`)).body.data;
  assert.deepEqual([recipient.skip_reason, recipient.call_id], ["calls_per_customer_day", null]);
  const blocked = await client.call({ to_number: number, from_number: "101" });
  const record = await client.awaitCall(blocked, "canceled");
  assert.deepEqual(
    [record.ended_reason, record.legs, record.cost],
    ["calls_per_customer_day", [], 0],
  );
  fixture.api.clock.advance(86_400_000);
  const later = await launch(client, phone);
  await ended(client, later);
  assert.equal((await statusOf(client, later)).failed, 1);
});

test("keeps a callback that the customer asked for, and places test calls, beyond the limit of a day", async () => {
  const client = await openClient(1);
  const phone = "919803777404";
  await ended(client, await launch(client, phone));
  const promised = { recipient: { attempts: 1, callbacks: 1 } };
  const trial = { campaign: { is_test: true } };
  for (const more of [promised, trial]) {
    const path = await launch(client, phone, more);
    await ended(client, path);
    assert.equal((await statusOf(client, path)).failed, 1);
  }
});

test("counts the retries of a promised callback toward the limit of a day: automatic ones, and those on request", async () => {
  const client = await openClient(1);
  const phone = "919804777486";
  await ended(client, await launch(client, phone));
  const recipient = { attempts: 1, callbacks: 1 };
  const retried = { max_retry: 3, retry_after_minutes: 1 };
  const path = await launch(client, phone, { recipient, campaign: retried });
  assert.equal((await deferred(client, path)).attempts, 2);
  await passMinutes(1);
  await eventually(async () => {
    const { pending, attempts } = await statusOf(client, path);
    return pending === 0 || attempts > 1;
  });
  const automatic = await statusOf(client, path);
  assert.deepEqual([automatic.skipped, automatic.attempts], [1, 1]);

  const other = await launch(client, phone, { recipient });
  await ended(client, other);
  assert.equal((await statusOf(client, other)).busy, 1);
  await passMinutes(60 * 23);
  const { status } = await fixture.api.send("POST", `${other}/retry`, {
    token: client.token,
    json: {},
    headers: { "idempotency-key": "retry" },
  });
  assert.equal(status, 200);
  await passMinutes(0);
  await ended(client, other);
  const requested = await statusOf(client, other);
  assert.deepEqual([requested.skipped, requested.attempts], [1, 1]);
});

test("places each callback that the customer asked for on the last one, up to five, beyond the limit of a day", async () => {
  const client = await openClient(1);
  const callback = { type: "callback", delay_minutes: 10, prompt: null };
  const menu = { start: "later", nodes: { later: callback } };
  const plan = {
    content: { call_type: "obd_ivr", menu },
    opt_out_key: null,
    answering_machine: "off",
  };
  // The sandbox answers by the real clock, so that each callback is due a minute after its call.
  fixture.api.clock.advance(3_600_000);
  const path = await launch(client, "919805777900", {
    campaign: { call_type: "obd_ivr", plan: JSON.stringify(plan) },
  });
  for (let placed = 1; placed <= 5; placed++) {
    await deferred(client, path);
    await passMinutes(1);
  }
  await ended(client, path);
  const { answered, attempts } = await statusOf(client, path);
  assert.deepEqual([answered, attempts], [1, 6]);
});

test("still places a promised callback beyond the limit of a day if its dial was withdrawn", async () => {
  const client = await openClient(1);
  const { app, api } = fixture;
  const phone = "12126777404";
  api.clock.set("2027-05-03T06:00:00Z");
  await ended(client, await launch(client, phone));
  // The contact moved to where it is night.
  const kolkata = { night_calling: false, time_zone: "Asia/Kolkata" };
  await setCalling(app, client.account, kolkata);
  const moved = { name: "Ada", phone: phone.slice(1), phone_e164: `+${phone}` };
  await makeContact(app, client.account, { ...moved, time_zone: "Asia/Tokyo" });
  api.clock.set("2027-05-03T13:00:00Z");
  const path = await launch(client, phone, { recipient: { attempts: 1, callbacks: 1 } });
  const { attempts, due_at } = await deferred(client, path);
  assert.deepEqual([attempts, due_at], [1, "2027-05-04T03:30:00.000Z"]);
  api.clock.set(due_at);
  await passMinutes(0);
  await ended(client, path);
  const { failed, skipped } = await statusOf(client, path);
  assert.deepEqual([failed, skipped], [1, 0]);
});

test("limits the calls of a new account to seven per customer and day, which one request alone never reaches", async () => {
  const client = await openClient();
  await fixture.app.db.pool.query(
    "update accounts set calls_per_customer_day = default where account_id = $1",
    [client.account.account_id],
  );
  const read = async () => (await client.ask("GET", "/api/v1/account")).body.calls;
  assert.equal((await read()).calls_per_customer_day, 7);
  await client.ask("PATCH", "/api/v1/account", { calls: { calls_per_customer_day: null } });
  assert.equal((await read()).calls_per_customer_day, null);
  const refused = await client.ask("PATCH", "/api/v1/account", {
    calls: { calls_per_customer_day: 0 },
  });
  assert.deepEqual(refused.body.errors, [
    {
      field: "calls.calls_per_customer_day",
      reason: "must be 1 to 100 calls, or null for no limit",
    },
  ]);
});
