// Phone numbers that belong to accounts: who may show them as caller IDs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { storedCall } from "../../../test/support/call-values.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import {
  makeCallingAccount,
  makeNode,
  makePhoneNumber,
  makeTrunk,
} from "../../../test/support/telephony-factory.ts";
import { requireTrunk } from "../../voice/campaigns/internal/require-trunk.ts";
import { moveStrandedCampaigns } from "../../voice/campaigns/move-stranded-campaigns.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";

let fixture: CallFixture;
let operator: TestAccount;
let other: CallClient;

before(async () => {
  fixture = await openCallFixture();
  operator = await makeAccount(fixture.app);
  other = await openCallClient(fixture.api, await makeCallingAccount(fixture.app));
});
after(() => fixture.close());

const operate = (method: string, path: string, json?: unknown) =>
  fixture.api.send(method, `/api/v1${path}`, { token: operator.token, json });

/** Creates a connected trunk of one account, or of every account. */
async function trunkOf(more: Parameters<typeof makeTrunk>[2]): Promise<number> {
  const { app } = fixture;
  return makeTrunk(app, [await makeNode(app, { connected: true })], more);
}

/** Submits a click-to-call with this caller ID; returns its ID, or the message of its refusal. */
async function callAs(client: CallClient, cli_number?: string): Promise<number | string> {
  const fields = { from_number: "101", to_number: "9876543210", cli_number };
  const { status, body } = await client.ask("POST", "/api/v1/clickToCallApis/clickToCall", fields);
  return status === 200 ? body.data.campaignId : `${status} ${body.message}`;
}

test("an operator assigns a number to one account at a time; its account alone sees it", async () => {
  const { account_id } = fixture.account;
  const assigned = await operate("POST", "/number-assignments", {
    number: "90000 00100",
    account_id,
  });
  assert.equal(assigned.status, 201, assigned.text);
  const { number, assigned_at } = assigned.body;
  assert.deepEqual(assigned.body, { number: "919000000100", account_id, assigned_at });
  const taken = { number: "+919000000100", account_id: other.account.account_id };
  assert.deepEqual(failingFields(await operate("POST", "/number-assignments", taken)), ["number"]);
  for (const [json, field] of [
    [{ number: "90", account_id }, "number"],
    [{ number: "9000000101", account_id: 2 ** 52 }, "account_id"],
  ] as const)
    assert.deepEqual(failingFields(await operate("POST", "/number-assignments", json)), [field]);
  const all = await operate("GET", `/number-assignments?account_id=${account_id}`);
  assert.deepEqual(all.body.data, [assigned.body]);
  const mine = await fixture.ask("GET", "/api/v1/phone-numbers");
  assert.deepEqual(mine.body.data[0].number, number);
  assert.equal((await fixture.ask("GET", `/api/v1/phone-numbers/${number}`)).status, 200);
  assert.deepEqual((await other.ask("GET", "/api/v1/phone-numbers")).body.data, []);
  assert.equal((await other.ask("GET", `/api/v1/phone-numbers/${number}`)).status, 404);
  assert.equal((await other.ask("GET", "/api/v1/number-assignments")).status, 403);
  assert.equal((await operate("DELETE", `/number-assignments/${number}`)).status, 204);
  assert.equal((await operate("DELETE", `/number-assignments/${number}`)).status, 404);
  const audit = await operate("GET", `/audit?subject_id=${number}`);
  assert.deepEqual(
    audit.body.data.map(({ action }: { action: string }) => action),
    ["phone_number.unassigned", "phone_number.assigned"],
  );
});

test("no account shows another account's number, over any trunk and in any spelling", async () => {
  await makePhoneNumber(fixture.app, fixture.account, "919000000001");
  assert.match(String(await callAs(other, "9000000001")), /^400 .*cli_number/);
  assert.equal(typeof (await callAs(other, "9000000002")), "number");
  assert.equal(typeof (await callAs(fixture, "9000000001")), "number");
});

test("a restricted trunk shows only numbers that belong to the call's account; without one, the carrier sets the caller ID", async () => {
  const { app, account } = fixture;
  const shared = { caller_ids: ["9000000011", "9000000012", "9000000013"], caller_ids_only: true };
  await makePhoneNumber(app, account, "919000000012");
  const lone = await openCallClient(fixture.api, await makeCallingAccount(app));
  await makePhoneNumber(app, lone.account, "919000000013");
  await makePhoneNumber(app, lone.account, "919000000011");
  await app.db.query.updateTable("trunks").set({ active: false }).execute();
  const trunk_id = await trunkOf(shared);
  for (const [client, allowed] of [
    [fixture, ["9000000012"]],
    [lone, ["9000000011", "9000000013"]],
    [other, []],
  ] as const)
    for (const cli_number of [...shared.caller_ids, "9000000014"]) {
      const answer = String(await callAs(client, cli_number));
      if ((allowed as readonly string[]).includes(cli_number)) assert.match(answer, /^\d+$/);
      else assert.match(answer, /^400 .*cli_number: is not an allowed caller ID/);
    }
  assert.match(String(await callAs(other)), /^\d+$/);
  const shown = async (client: CallClient) => {
    const { account_id } = client.account;
    const calls = await app.db.query
      .selectFrom("calls")
      .select("id")
      .where("account_id", "=", account_id)
      .where("trunk_id", "=", trunk_id)
      .where("cli_number", "is", null)
      .execute();
    return Promise.all(
      calls.map(async ({ id }) => (await storedCall(app, account_id, id)).caller_id),
    );
  };
  await callAs(fixture);
  await callAs(lone);
  assert.deepEqual(
    [await shown(fixture), await shown(lone), await shown(other)],
    [["9000000012"], ["9000000011"], ["0"]],
  );
  const own = { caller_ids: ["9000000020", "9000000011"], caller_ids_only: true };
  await trunkOf({ ...own, only_account_id: other.account.account_id });
  assert.match(String(await callAs(other, "9000000020")), /^\d+$/, "its own trunk's");
  assert.match(String(await callAs(other, "9000000011")), /^400 /, "listed, but another account's");
  await app.db.query.updateTable("trunks").set({ active: true }).execute();
});

test("a trunk may list its caller IDs in any spelling, and calls show a number as it is spelled there", async () => {
  const { app, account } = fixture;
  await makePhoneNumber(app, account, "919000000050");
  await app.db.query.updateTable("trunks").set({ active: false }).execute();
  const listed = { caller_ids: ["9000000050"], caller_ids_only: true };
  const trunk_id = await makeTrunk(app, [fixture.node_id], listed);
  const of = { trunk_id, caller_id: "9000000050" };
  const campaign = await makeVoiceCampaign(app, account, { campaign: of });
  const respelled = { caller_ids: ["919000000050"] };
  await app.db.query.updateTable("trunks").set(respelled).where("id", "=", trunk_id).execute();
  const id = await callAs(fixture, "9000000050");
  const calls = app.db.query.selectFrom("calls").select("id").where("campaign_id", "=", Number(id));
  const call = await calls.executeTakeFirstOrThrow();
  const { caller_id } = await storedCall(app, account.account_id, call.id);
  assert.equal(caller_id, "919000000050");
  await moveStrandedCampaigns(app);
  const { body } = await fixture.ask("GET", `/api/v1/voice/campaigns/${campaign.id}`);
  assert.deepEqual([body.status, body.caller_id], ["running", "9000000050"]);
  const leaders = fixture.startLeaders();
  const placed = async () =>
    (await fixture.ask("GET", `/api/v1/calls?campaign_id=${campaign.id}`)).body.data;
  await eventually(async () => (await placed()).length > 0);
  await leaders.stop();
  assert.equal((await placed())[0].from_number, "919000000050");
  await app.db.query.updateTable("trunks").set({ active: true }).execute();
});

test("a campaign over a restricted trunk never shows a number that is not its account's", async () => {
  const { app, account } = fixture;
  await app.db.query.updateTable("trunks").set({ active: false }).execute();
  const shared = { caller_ids: ["9000000040"], caller_ids_only: true };
  await trunkOf(shared);
  const { trunk_id, caller_id } = await requireTrunk(app.db.query, account.account_id, 0);
  assert.equal(caller_id, "0");
  const campaign = await makeVoiceCampaign(app, account, { campaign: { trunk_id, caller_id } });
  await moveStrandedCampaigns(app);
  const { body } = await fixture.ask("GET", `/api/v1/voice/campaigns/${campaign.id}`);
  assert.deepEqual([body.status, body.caller_id], ["running", null]);
  const only_account_id = account.account_id;
  await trunkOf({ ...shared, only_account_id });
  const own = await requireTrunk(app.db.query, account.account_id, 0);
  assert.equal(own.caller_id, "9000000040");
  await app.db.query.updateTable("trunks").set({ active: true }).execute();
});

test("a number that is taken from its account is not shown any more: its queued calls are not placed, its campaigns pause", async () => {
  const { app, account } = fixture;
  await makePhoneNumber(app, account, "919000000030");
  const trunk = { caller_ids: ["9000000030"], caller_ids_only: true };
  const { node_id } = fixture;
  const trunk_id = await makeTrunk(app, [node_id], trunk);
  await app.db.query
    .updateTable("trunks")
    .set({ active: false })
    .where("id", "<>", trunk_id)
    .execute();
  const campaign_id = (await callAs(fixture, "9000000030")) as number;
  const campaign = await makeVoiceCampaign(app, account, {
    campaign: { trunk_id, caller_id: "9000000030" },
  });
  assert.equal((await operate("DELETE", "/number-assignments/919000000030")).status, 204);
  fixture.startLeaders();
  const call = await fixture.awaitCall(campaign_id, "canceled");
  assert.deepEqual([call.ended_reason, call.cost], ["caller_id_not_allowed", 0]);
  await moveStrandedCampaigns(app);
  const { body } = await fixture.ask("GET", `/api/v1/voice/campaigns/${campaign.id}`);
  assert.deepEqual([body.status, body.paused_reason], ["paused", "trunk"]);
  assert.match(body.holds[0].detail, /no longer shows the caller ID 9000000030/);
  const calls = await fixture.ask("GET", `/api/v1/calls?campaign_id=${campaign.id}`);
  assert.deepEqual(calls.body.data, []);
});
