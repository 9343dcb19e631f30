import { after, before, test } from "node:test";
import { setCalling } from "../../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { eventually } from "../../../../test/support/eventually.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());

const args = "bigint, bigint, bigint, int, timestamptz";

test("reserves credit for a conversation again once the database recovers", async () => {
  const { app, account } = fixture;
  await setCalling(app, account, { call_pulse_seconds: 1 });
  const campaign = await fixture.call({ to_number: "9800777900", from_number: "101" });
  const record = await fixture.awaitCall(campaign, "in-progress");
  await app.db.pool.query(
    `alter function reserve_call_credit(${args}) rename to reserve_call_credit_later`,
  );
  await eventually(() => Date.now() - Date.parse(record.answered_at) > 1_500);
  await app.db.pool.query(
    `alter function reserve_call_credit_later(${args}) rename to reserve_call_credit`,
  );
  await eventually(async () => {
    const { reserved } = await app.db.query
      .selectFrom("calls")
      .select("reserved")
      .where("campaign_id", "=", campaign)
      .executeTakeFirstOrThrow();
    return reserved >= 6;
  });
  await fixture.ask("POST", `/api/v1/calls/${record.call_id}/hangup`);
  await fixture.awaitCall(campaign, "completed");
});
