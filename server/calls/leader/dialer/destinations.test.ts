// Which numbers an account may call, from the request to the dialed leg.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallClient, type CallClient } from "../../../../test/support/call-client.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { makeSuppression } from "../../../../test/support/chat-factory.ts";
import { checkVoiceCampaigns } from "../../../../test/support/check-invariants.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makeSandboxTrunk,
  setCalling,
} from "../../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";

let fixture: CallFixture;
before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());

/** Opens an account with these call settings; by default it may call its own country. */
async function openClient(settings: Parameters<typeof setCalling>[2] = {}): Promise<CallClient> {
  const account = await makeCallingAccount(fixture.app);
  await setCalling(fixture.app, account, { call_destinations_allowed: null, ...settings });
  return openCallClient(fixture.api, account);
}

const submit = (client: CallClient, fields: Record<string, unknown>) =>
  client.ask("POST", "/api/v1/clickToCallApis/clickToCall", {
    to_number: "9876543210",
    from_number: "101",
    ...fields,
  });

/** Returns the numbers of the account's legs. */
async function legs({ account }: CallClient): Promise<string[]> {
  const rows = await fixture.app.db.query
    .selectFrom("call_legs")
    .select("number")
    .where("account_id", "=", account.account_id)
    .execute();
  return rows.map(({ number }) => number);
}

test("refuses premium-rate, satellite and unassigned numbers as customer and as agent, whatever is allowed", async () => {
  const client = await openClient({ call_destinations_allowed: ["*"] });
  for (const from_number of [
    "+979 123 456 789",
    "+881 612 345 678",
    "+882 16 123 4567",
    "+1 900 555 0123",
  ]) {
    const { status, body } = await submit(client, { from_number });
    assert.equal(status, 400, from_number);
    assert.match(body.message, /from_number.*must not be/);
  }
  const american = await openClient({ country_code: "1", call_destinations_allowed: ["*"] });
  const both = await submit(american, { to_number: "9005550123", from_number: "+88161234567 8" });
  assert.equal(both.status, 400);
  assert.match(both.body.message, /from_number.*satellite/);
  assert.match(both.body.message, /to_number.*premium/);
  assert.deepEqual(Object.keys(both.body).toSorted(), ["message", "status"]);
  assert.deepEqual(await legs(client), []);
});

test("accepts any ten digits in the account's country", async () => {
  const client = await openClient();
  for (const to_number of ["0000000000", "1234567890", "1861234567", "0088161234"])
    assert.equal((await submit(client, { to_number })).status, 200, to_number);
});

test("refuses a country that the account may not call, by either leg, with 403", async () => {
  const client = await openClient({ country_code: "1" });
  const jamaica = await submit(client, { to_number: "8765550123" });
  assert.equal(jamaica.status, 403);
  assert.match(jamaica.body.message, /may not call numbers of JM/);
  const agent = await submit(client, { to_number: "2125550123", from_number: "+44 7400 123456" });
  assert.equal(agent.status, 403);
  assert.match(agent.body.message, /may not call numbers of GB/);
  assert.equal((await submit(client, { to_number: "2125550123" })).status, 200);
  await setCalling(fixture.app, client.account, { call_destinations_allowed: ["US", "JM"] });
  assert.equal((await submit(client, { to_number: "8765550123" })).status, 200);
});

test("ends a scheduled call undialed when its country was forbidden meanwhile", async () => {
  const client = await openClient({ call_destinations_allowed: ["IN", "GB"] });
  const at = new Date(fixture.api.clock.now().getTime() + 3_600_000);
  const campaign = await client.call({
    to_number: "9876543210",
    from_number: "+44 7400 123456",
    schedulled_at: at.toISOString(),
  });
  await setCalling(fixture.app, client.account, { call_destinations_allowed: ["IN"] });
  fixture.api.clock.set(at);
  fixture.app.notifications.send("call_work", `${fixture.node_id}:${client.account.account_id}`);
  const { ended_reason, cost } = await client.awaitCall(campaign, "canceled");
  assert.deepEqual([ended_reason, cost], ["destination_not_allowed", 0]);
  assert.deepEqual(await legs(client), []);
  fixture.api.clock.release();
});

test("never rings a group member on a premium-rate or foreign number", async () => {
  const client = await openClient();
  const group = await makeAgentGroup(fixture.app, client.account, ["19005550123", "447400123456"]);
  const campaign = await client.call({
    to_number: "9876543210",
    // Is busy.
    from_number: "9876777486",
    agent_not_pick_group: String(group),
    agent_not_pick_policy: "ring_all",
  });
  const record = await client.awaitCall(campaign, "no-answer", "canceled", "busy", "failed");
  const outside = record.legs.filter(({ number }: { number: string }) => !number.startsWith("91"));
  for (const { ringing_at, status } of outside)
    assert.deepEqual([ringing_at, status], [null, "canceled"]);
});

test("skips recipients that the account may not call, with the reason and without a lead, and calls the others", async () => {
  const client = await openClient();
  const { app, trunk_id } = fixture;
  const phones = ["919876500011", "19005550123", "447400123456"];
  const { id } = await makeVoiceCampaign(app, client.account, {
    campaign: { trunk_id, crm_workspace_id: client.account.workspace_id },
    recipients: phones.map((phone) => ({ number: phone.slice(-10), phone })),
  });
  app.notifications.send("voice_work", String(trunk_id));
  const path = `/api/v1/voice/campaigns/${id}`;
  await eventually(async () => (await client.ask("GET", path)).body.pending === 0);
  const { body } = await client.ask("GET", path);
  assert.equal(body.skipped, 2);
  assert.equal(body.attempts, 1);
  const recipients = (await client.ask("GET", `${path}/recipients`)).body.data;
  assert.deepEqual(
    recipients.map((each: { state: string; skip_reason: string; attempts: number }) => [
      each.state === "skipped",
      each.skip_reason,
      each.attempts,
    ]),
    [
      [false, null, 1],
      [true, "number_barred", 0],
      [true, "destination_not_allowed", 0],
    ],
  );
  const recorded = await app.db.query
    .selectFrom("jobs")
    .select("payload")
    .where("account_id", "=", client.account.account_id)
    .where("kind", "=", "crm.record_call")
    .execute();
  const call_ids = recipients.map(({ call_id }: { call_id: number }) => call_id);
  assert.deepEqual(
    recorded.map(({ payload }) => (payload as { call_id: number }).call_id),
    call_ids.slice(0, 1),
  );
  await checkVoiceCampaigns(app.db.pool);
});

test("an account narrows what it calls, and only its operator widens it, whatever its country code", async () => {
  const client = await openClient();
  const patch = (json: unknown) => client.ask("PATCH", "/api/v1/account", json);
  const wider = await patch({ calls: { destinations: ["IN", "GB"] } });
  assert.equal(wider.status, 422);
  assert.equal(wider.body.errors[0].field, "calls.destinations.1");
  assert.equal((await patch({ calls: { destinations: ["XX"] } })).status, 422);
  assert.equal((await patch({ calls: { destinations_allowed: ["*"] } })).status, 422);
  const moved = await patch({ country_code: "44" });
  assert.deepEqual(moved.body.calls.destinations_allowed, ["IN"]);
  assert.equal((await submit(client, { to_number: "7400123456" })).status, 403);
  await patch({ country_code: "91" });
  const none = await patch({ calls: { destinations: [] } });
  assert.deepEqual(none.body.calls.destinations, []);
  assert.equal((await submit(client, {})).status, 403);
  await patch({ calls: { destinations: null } });
  assert.equal((await submit(client, {})).status, 200);
});

test("never rings a suppressed phone, as agent, group member or customer, when 40 calls arrive at once", async () => {
  const client = await openClient();
  const { app } = fixture;
  await makeSuppression(app, client.account, "919876500077", { channel: "voice" });
  const group = await makeAgentGroup(app, client.account, ["919876500077"]);
  const requests = [
    { to_number: "9876500001", from_number: "9876500077" },
    { to_number: "9876500077", from_number: "101" },
    {
      to_number: "9876500002",
      // Is busy, so that the group's member is next.
      from_number: "9876777486",
      agent_not_pick_group: String(group),
      agent_not_pick_policy: "ring_all",
    },
  ];
  const submitted = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      client.ask("POST", "/api/v1/clickToCallApis/clickToCall", requests[i % 3]!),
    ),
  );
  assert.ok(submitted.some(({ status }) => status === 200));
  const { query } = app.db;
  const { account_id } = client.account;
  await eventually(async () => {
    const open = query.selectFrom("calls").select("id").where("account_id", "=", account_id);
    return (await open.where("stage", "<>", "ended").execute()).length === 0;
  });
  const rung = await query
    .selectFrom("call_legs")
    .select("role")
    .where("account_id", "=", account_id)
    .where("number", "=", "919876500077")
    .where("ringing_at", "is not", null)
    .execute();
  assert.deepEqual(rung, []);
});

// The last: the node's leader may see the narrowed trunk until its next poll.
test("refuses a country that none of the account's trunks calls, and chooses one that does", async () => {
  const client = await openClient({ call_destinations_allowed: ["*"] });
  const { trunk_id } = await makeSandboxTrunk(fixture.app, client.account);
  const limit = (id: number, destinations: string[]) =>
    fixture.app.db.query.updateTable("trunks").set({ destinations }).where("id", "=", id).execute();
  await limit(trunk_id, ["GB"]);
  assert.equal((await submit(client, {})).status, 200);
  await limit(fixture.trunk_id, ["GB"]);
  try {
    assert.equal((await submit(client, {})).status, 403);
  } finally {
    await limit(fixture.trunk_id, ["*"]);
  }
});
