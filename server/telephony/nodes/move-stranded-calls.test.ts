import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { moveStrandedCalls } from "./move-stranded-calls.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

test("a call that was queued on a node just after its deactivation is placed by another node", async () => {
  const { app, account, node_id, trunk_id } = fixture;
  const campaign = await fixture.call({ to_number: "9800000001", from_number: "101" });
  await app.db.query
    .updateTable("voice_nodes")
    .set({ active: false })
    .where("id", "=", node_id)
    .execute();
  await moveStrandedCalls(app);
  const nodeOf = async () => {
    const { account_id } = account;
    const calls = app.db.query.selectFrom("calls").select("node_id");
    return calls
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign)
      .executeTakeFirstOrThrow();
  };
  assert.deepEqual(await nodeOf(), { node_id });

  const other = await makeNode(app);
  await makeTrunk(app, [other]);
  await app.db.query
    .insertInto("trunk_nodes")
    .values({ trunk_id, node_id: other, calls_per_second: 100, calls_max: 100 })
    .execute();
  await moveStrandedCalls(app);
  assert.deepEqual(await nodeOf(), { node_id: other });
  fixture.startLeaders();
  await fixture.awaitCall(campaign, "completed");
});
