// Caps on legs and credits: what a stolen token can do to a phone and to a bill.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { makeToken } from "../../../../test/support/account-factory.ts";
import { openCallClient, type CallClient } from "../../../../test/support/call-client.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { checkVoiceCampaigns } from "../../../../test/support/check-invariants.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { applyRetention } from "../../../retention/apply-retention.ts";

const submit_path = "/api/v1/clickToCallApis/clickToCall";
const hour_ms = 3_600_000;

let fixture: CallFixture;
before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());
// No clock hour ends during a test. The sandbox's calls end by real time.
beforeEach(() => fixture.api.clock.set(new Date()));

async function openClient(caps: Record<string, unknown>): Promise<CallClient> {
  const account = await makeCallingAccount(fixture.app);
  await setCalling(fixture.app, account, { call_caps: JSON.stringify(caps) });
  return openCallClient(fixture.api, account);
}

/** Waits until all of the account's calls have ended; returns their reasons, and the numbers that rang. */
async function outcome({ account }: CallClient) {
  const { query } = fixture.app.db;
  const calls = () =>
    query
      .selectFrom("calls")
      .select(["stage", "ended_reason"])
      .where("account_id", "=", account.account_id)
      .execute();
  await eventually(async () => (await calls()).every(({ stage }) => stage === "ended"));
  const rung = await query
    .selectFrom("call_legs")
    .select("number")
    .where("account_id", "=", account.account_id)
    .where("ringing_at", "is not", null)
    .execute();
  return {
    reasons: (await calls()).map(({ ended_reason }) => ended_reason),
    rung: rung.map(({ number }) => number),
  };
}

const count = <Value>(values: readonly Value[], wanted: Value) =>
  values.filter((value) => value === wanted).length;

async function makeCampaign({ account }: CallClient, phones: readonly string[]) {
  const { id } = await makeVoiceCampaign(fixture.app, account, {
    campaign: { trunk_id: fixture.trunk_id },
    recipients: phones.map((phone) => ({ number: phone.slice(-10), phone })),
  });
  fixture.app.notifications.send("voice_work", String(fixture.trunk_id));
  return id;
}

async function readCampaign(client: CallClient, id: string | number) {
  return (await client.ask("GET", `/api/v1/voice/campaigns/${id}`)).body;
}

test("rings an agent's phone only as often as its cap allows, when 40 calls arrive at once", async () => {
  const client = await openClient({ number: { legs_hour: 5 } });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      client.ask("POST", submit_path, {
        to_number: `98765001${String(i).padStart(2, "0")}`,
        from_number: "9876500099",
      }),
    ),
  );
  const submitted = answers.filter(({ status }) => status === 200).length;
  const { reasons, rung } = await outcome(client);
  assert.equal(count(rung, "919876500099"), 5);
  assert.equal(count(reasons, "number_cap"), submitted - 5);
});

test("refuses a call beyond a cap in the endpoint's own error shape, with the reason and when to retry", async () => {
  const client = await openClient({ number: { legs_day: 1 } });
  const fields = { to_number: "9876500001", from_number: "101" };
  await client.awaitCall(await client.call(fields), "completed");
  const { status, body, headers } = await client.ask("POST", submit_path, fields);
  assert.equal(status, 429);
  assert.deepEqual(Object.keys(body).toSorted(), ["message", "status"]);
  assert.match(body.message, /`to_number` or `from_number` has reached its cap on calls/);
  const left_ms = hour_ms - (fixture.api.clock.now().getTime() % hour_ms);
  assert.equal(headers.get("retry-after"), String(Math.ceil(left_ms / 1_000)));
  // A scheduled call is checked when it is due.
  const later = await client.ask("POST", submit_path, {
    ...fields,
    schedulled_at: new Date(fixture.api.clock.now().getTime() + 24 * hour_ms).toISOString(),
  });
  assert.equal(later.status, 200, later.text);
});

test("counts the phones of a group's members, rings them no more often than the cap allows, and names the cap", async () => {
  const client = await openClient({ number: { legs_hour: 2 } });
  const group = await makeAgentGroup(fixture.app, client.account, ["919876500077"]);
  const ring = async (to_number: string, status: string) =>
    client.awaitCall(
      await client.call({
        to_number,
        // An extension that is busy, so that the group's member is next.
        from_number: "777486",
        agent_not_pick_group: String(group),
        agent_not_pick_policy: "next_in_group",
      }),
      status,
    );
  await ring("9876500001", "completed");
  await ring("9876500002", "completed");
  const refused = await ring("9876500003", "canceled");
  assert.equal(refused.ended_reason, "number_cap");
  const { body } = await client.ask("GET", `/api/v1/calls/${refused.call_id}`);
  const legs = body.legs as { role: string; status: string; blocker: string | null }[];
  assert.deepEqual(
    legs.map(({ status, blocker }) => [status, blocker]),
    [
      ["busy", null],
      ["canceled", "number_cap"],
    ],
  );
  const completed = body.events.find(({ type }: { type: string }) => type === "call.completed");
  assert.equal(completed.ended_reason, "number_cap");
  const member = { to_number: "9876500004", from_number: "9876500077" };
  assert.equal((await client.ask("POST", submit_path, member)).status, 429);
  const { rung } = await outcome(client);
  assert.equal(count(rung, "919876500077"), 2);
});

test("caps the legs of one token, and other tokens of the account go on", async () => {
  const client = await openClient({ token: { legs_day: 2 } });
  const first = await client.call({ to_number: "9876500010", from_number: "101" });
  await client.awaitCall(first, "completed");
  const json = { to_number: "9876500011", from_number: "9876500012" };
  const refused = await client.ask("POST", submit_path, json);
  assert.equal(refused.status, 429);
  assert.match(refused.body.message, /This token has reached its cap/);
  const token = await makeToken(fixture.app, client.account);
  const other = await fixture.api.send("POST", submit_path, { token, json });
  assert.equal(other.status, 200, other.text);
  await client.awaitCall(other.body.data.campaignId, "completed");
});

test("caps the credits that an account spends in an hour, and goes on in the next", async () => {
  const client = await openClient({ account: { credits_hour: 2 } });
  const fields = { to_number: "9876500020", from_number: "101" };
  const first = await client.call(fields);
  assert.equal((await client.awaitCall(first, "completed")).cost, 2);
  const refused = await client.ask("POST", submit_path, fields);
  assert.match(refused.body.message, /This account has reached its cap/);
  fixture.api.clock.advance(hour_ms);
  await client.awaitCall(await client.call(fields), "completed");
});

test("caps the credits of a day, of calls to one customer", async () => {
  const client = await openClient({ number: { credits_day: 2 } });
  const fields = { to_number: "9876500020", from_number: "101" };
  await client.awaitCall(await client.call(fields), "completed");
  fixture.api.clock.advance(23 * hour_ms);
  assert.equal((await client.ask("POST", submit_path, fields)).status, 429);
  const other = await client.call({ to_number: "9876500021", from_number: "101" });
  await client.awaitCall(other, "completed");
  fixture.api.clock.advance(hour_ms);
  await client.awaitCall(await client.call(fields), "completed");
});

test("a campaign at the account's cap waits, says why, and continues in the next hour", async () => {
  const client = await openClient({ account: { legs_hour: 2 } });
  const id = await makeCampaign(client, ["919876500031", "919876500032", "919876500033"]);
  await eventually(async () => (await readCampaign(client, id)).waiting_for === "account_cap");
  assert.equal((await readCampaign(client, id)).attempts, 2);
  fixture.api.clock.advance(hour_ms);
  fixture.app.notifications.send("voice_work", String(fixture.trunk_id));
  await eventually(async () => (await readCampaign(client, id)).pending === 0);
  assert.equal((await readCampaign(client, id)).attempts, 3);
  await checkVoiceCampaigns(fixture.app.db.pool);
});

test("campaigns call one phone no more often than its cap allows, and lose no recipient", async () => {
  const client = await openClient({ number: { legs_hour: 1 } });
  const first = await makeCampaign(client, ["919876500041"]);
  await eventually(async () => (await readCampaign(client, first)).pending === 0);
  const second = await makeCampaign(client, ["919876500041", "919876500042"]);
  await eventually(async () => (await readCampaign(client, second)).pending === 1);
  assert.equal((await readCampaign(client, second)).waiting_for, "retry");
  assert.equal(count((await outcome(client)).rung, "919876500041"), 1);
  fixture.api.clock.advance(hour_ms);
  fixture.app.notifications.send("voice_work", String(fixture.trunk_id));
  await eventually(async () => (await readCampaign(client, second)).pending === 0);
});

test("deletes counts that no cap looks at any more", async () => {
  const client = await openClient({});
  const { account_id } = client.account;
  const used = () =>
    fixture.app.db.query
      .selectFrom("call_usage")
      .selectAll()
      .where("account_id", "=", account_id)
      .orderBy("subject")
      .orderBy("slot")
      .execute();
  const fields = { to_number: "9876500051", from_number: "101" };
  await client.awaitCall(await client.call(fields), "completed");
  const counted = await used();
  assert.ok(counted.some(({ subject }) => subject === "number:919876500051"));
  fixture.api.clock.advance(24 * hour_ms);
  await applyRetention(fixture.app, new AbortController().signal);
  assert.deepEqual(await used(), counted);
  fixture.api.clock.advance(8 * hour_ms);
  await applyRetention(fixture.app, new AbortController().signal);
  assert.deepEqual(await used(), []);
});
