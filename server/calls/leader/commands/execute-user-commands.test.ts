import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { setCalling } from "../../../../test/support/telephony-factory.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
  // As long as an account may choose: a transfer rings until everything was requested.
  await setCalling(fixture.app, fixture.account, { agent_ring_seconds: 120 });
});
after(() => fixture.close());

async function hangUp(campaign: number): Promise<void> {
  const [{ call_id }] = await fixture.callRecords(campaign);
  const { status } = await fixture.ask("POST", `/api/v1/calls/${call_id}/hangup`);
  assert.equal(status, 200);
}

async function noCommandLeft(): Promise<void> {
  await eventually(async () => {
    const left = await fixture.app.db.query.selectFrom("call_commands").selectAll().execute();
    return left.length === 0;
  });
}

test("hangs up a call under the next node leader when it was requested while there was none", async () => {
  const first = fixture.startLeaders();
  const campaign = await fixture.call({ to_number: "9800777900", from_number: "301" });
  await fixture.awaitCall(campaign, "in-progress");
  await first.stop();
  await hangUp(campaign);
  const second = fixture.startLeaders();
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual([record.ended_reason, record.ended_by], ["hung_up_by_api", "api"]);
  await noCommandLeft();
  await second.stop();
});

test("never places a call that is hung up after its node leader claimed it and died", async () => {
  const campaign = await fixture.call({ to_number: "9801777900", from_number: "302" });
  // The state after claim_calls.
  await fixture.app.db.query
    .updateTable("calls")
    .set({ stage: "agent" })
    .where("campaign_id", "=", campaign)
    .execute();
  await hangUp(campaign);
  const leaders = fixture.startLeaders();
  const record = await fixture.awaitCall(campaign, "canceled");
  assert.deepEqual([record.ended_reason, record.legs, record.cost], ["hung_up_by_api", [], 0]);
  await noCommandLeft();
  await leaders.stop();
});

test("reserves no further credit when a transfer is requested while one rings", async () => {
  const leaders = fixture.startLeaders();
  const campaign = await fixture.call({ to_number: "9802777900", from_number: "303" });
  const { call_id } = await fixture.awaitCall(campaign, "in-progress");
  const reserved = async () => (await fixture.ask("GET", "/api/v1/credits")).body.call.reserved;
  const reserved_before = await reserved();
  const path = `/api/v1/calls/${call_id}/transfer`;
  // Rings until the ring time has passed.
  await fixture.ask("POST", path, { extension: "480" });
  await eventually(
    async () => (await fixture.callRecords(campaign))[0].legs[2]?.status === "ringing",
  );
  await Promise.all([1, 2, 3].map(() => fixture.ask("POST", path, { extension: "480" })));
  await noCommandLeft();
  assert.equal(await reserved(), reserved_before + 1);
  await hangUp(campaign);
  await fixture.awaitCall(campaign, "completed");
  await leaders.stop();
});
