import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { moveStrandedCalls } from "./move-stranded-calls.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

afterEach(async () => {
  await fixture.app.db.pool.query("update voice_nodes set active = false");
});

async function placeOf(campaign: number): Promise<{ node_id: number; trunk_id: number }> {
  return fixture.app.db.query
    .selectFrom("calls")
    .select(["node_id", "trunk_id"])
    .where("account_id", "=", fixture.account.account_id)
    .where("campaign_id", "=", campaign)
    .executeTakeFirstOrThrow();
}

async function loseNode(id: number): Promise<void> {
  const now = fixture.app.clock.now();
  const lost = { lost_at: now, connected_at: null };
  await fixture.app.db.query.updateTable("voice_nodes").set(lost).where("id", "=", id).execute();
}

let customers = 0;
const customer = () => `98${String(++customers).padStart(8, "0")}`;

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
  const leaders = fixture.startLeaders();
  await fixture.awaitCall(campaign, "completed");
  await leaders.stop();
});

test("a call that is queued on a lost node moves to another trunk of its account that shows its caller ID", async () => {
  const { app, account } = fixture;
  const only_account_id = account.account_id;
  const node_id = await makeNode(app, { connected: true });
  const trunk_id = await makeTrunk(app, [node_id], { only_account_id });
  const shown = { from_number: "101", cli_number: "9000000001" };
  const campaign = await fixture.call({ to_number: customer(), ...shown });
  assert.deepEqual(await placeOf(campaign), { node_id, trunk_id });
  await loseNode(node_id);
  const node = await makeNode(app, { connected: true });
  const other = { only_account_id, caller_ids_only: true };
  await makeTrunk(app, [node], { ...other, caller_ids: ["9000000002"] });
  await makeTrunk(app, [node], { only_account_id, active: false });
  const unconnected = await makeNode(app);
  await makeTrunk(app, [unconnected], { only_account_id });
  await moveStrandedCalls(app);
  assert.deepEqual(await placeOf(campaign), { node_id, trunk_id });

  const usable = await makeTrunk(app, [node], { ...other, caller_ids: ["9000000001"] });
  await moveStrandedCalls(app);
  assert.deepEqual(await placeOf(campaign), { node_id: node, trunk_id: usable });
});

test("a call that a lost node had claimed before is claimed by the node that it moves to", async () => {
  const { app, account } = fixture;
  const { account_id } = account;
  const node_id = await makeNode(app, { connected: true });
  const other = await makeNode(app);
  const trunk_id = await makeTrunk(app, [node_id, other], { only_account_id: account_id });
  const campaign = await fixture.call({ to_number: customer(), from_number: "101" });
  // The lease of the lost node has had many holders, that of the other node none.
  await app.db.query
    .updateTable("calls")
    .set({ fence: 1_000 })
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign)
    .execute();
  await app.db.pool.query("update voice_nodes set active = false where id <> $1", [other]);
  await loseNode(node_id);
  await moveStrandedCalls(app);
  assert.deepEqual(await placeOf(campaign), { node_id: other, trunk_id });
  const leaders = fixture.startLeaders();
  await fixture.awaitCall(campaign, "completed");
  await leaders.stop();
});
