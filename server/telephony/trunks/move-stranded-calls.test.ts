import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { makeAgentGroup, makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
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

/** Queues a call on a new node with its own trunk, and loses the node; returns its place and what moves it. */
async function strand(
  driver: "sandbox" | "asterisk",
  body: { from_number: string; to_number?: string },
) {
  const { app, account } = fixture;
  const only_account_id = account.account_id;
  const node_id = await makeNode(app, { connected: true, driver });
  const trunk_id = await makeTrunk(app, [node_id], { only_account_id });
  const campaign = await fixture.call({ to_number: customer(), ...body });
  const stays = { node_id, trunk_id };
  assert.deepEqual(await placeOf(campaign), stays);
  await loseNode(node_id);
  const moved = async () => {
    await moveStrandedCalls(app);
    return placeOf(campaign);
  };
  return { stays, moved };
}

/** Makes a connected node with a trunk of the account. */
async function makePlace(
  driver: "sandbox" | "asterisk",
  more: { agent_numbers?: "verified" | "any"; destinations?: string[] } = {},
) {
  const { app, account } = fixture;
  const node_id = await makeNode(app, { connected: true, driver });
  const only_account_id = account.account_id;
  return { node_id, trunk_id: await makeTrunk(app, [node_id], { only_account_id, ...more }) };
}

test("a simulated call never becomes a real one, nor a real call a simulated one", async () => {
  const simulated = await strand("sandbox", { from_number: "9100000001" });
  const real = await makePlace("asterisk");
  assert.deepEqual(await simulated.moved(), simulated.stays);
  const sandbox = await makePlace("sandbox");
  assert.deepEqual(await simulated.moved(), sandbox);

  await fixture.app.db.pool.query("update voice_nodes set active = false");
  const call = await strand("asterisk", { from_number: "9100000001" });
  await makePlace("sandbox");
  assert.deepEqual(await call.moved(), call.stays);
  await fixture.app.db.pool.query("update voice_nodes set active = true where id = $1", [
    real.node_id,
  ]);
  assert.deepEqual(await call.moved(), real);
});

test("a call stays on its trunk if the node of the trunk with another driver is the only one left", async () => {
  const { stays, moved } = await strand("sandbox", { from_number: "101" });
  const node_id = await makeNode(fixture.app, { connected: true, driver: "asterisk" });
  await fixture.app.db.query
    .insertInto("trunk_nodes")
    .values({ trunk_id: stays.trunk_id, node_id, calls_per_second: 100, calls_max: 100 })
    .execute();
  assert.deepEqual(await moved(), stays);
});

test("a call moves only to a trunk that may ring its agent's phone", async () => {
  const { stays, moved } = await strand("asterisk", { from_number: "9100000002" });
  const verified = await makePlace("asterisk", { agent_numbers: "verified" });
  assert.deepEqual(await moved(), stays);
  const listed = await fixture.ask("POST", "/api/v1/agent-numbers", { number: "9100000002" });
  assert.equal(listed.status, 201, listed.text);
  assert.deepEqual(await moved(), verified);

  const member = await strand("asterisk", { from_number: "9100000003" });
  await makeAgentGroup(fixture.app, fixture.account, ["919100000003"]);
  assert.deepEqual(await member.moved(), verified);
});

test("a call moves only to a trunk that reaches both of its phones", async () => {
  const { stays, moved } = await strand("sandbox", { from_number: "+447400000001" });
  await makePlace("sandbox", { destinations: ["IN"] });
  await makePlace("sandbox", { destinations: ["GB"] });
  assert.deepEqual(await moved(), stays);
  const both = await makePlace("sandbox", { destinations: ["IN", "GB"] });
  assert.deepEqual(await moved(), both);
});
