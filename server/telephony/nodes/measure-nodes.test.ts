import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import { makeCall } from "../../../test/support/call-factory.ts";
import { makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openMetrics } from "../../lib/metrics.ts";
import { measureNodes } from "./measure-nodes.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

/** Returns a gauge of a node, or undefined. */
async function gauge(name: string, node_id = fixture.node_id): Promise<number | undefined> {
  // Not by HTTP, where the figures may be a second old.
  const metrics = openMetrics();
  await measureNodes(fixture.app, metrics);
  const text = await metrics.registry.metrics();
  const line = text.split("\n").find((each) => each.startsWith(`${name}{node="${node_id}"} `));
  return line === undefined ? undefined : Number(line.split(" ")[1]);
}

test("a frozen account's due calls do not count as waiting", async () => {
  // Before the leaders start, which would place the call.
  const node_id = await makeNode(fixture.app);
  const place = { node_id, trunk_id: await makeTrunk(fixture.app, [node_id]) };
  const account = await makeAccount(fixture.app);
  await makeCredits(fixture.app, account, { call: 10 });
  await makeCall(fixture.app, account, { place });
  assert.equal(await gauge("trunkline_calls_waiting", node_id), 1);
  await fixture.app.db.query
    .updateTable("accounts")
    .set({ frozen_at: fixture.app.clock.now() })
    .where("account_id", "=", account.account_id)
    .execute();
  assert.equal(await gauge("trunkline_calls_waiting", node_id), 0);
  assert.equal(await gauge("trunkline_calls_waiting_seconds", node_id), 0);
});

test("the metrics show for each active node whether it is connected, and its waiting and live calls", async () => {
  const idle = await makeNode(fixture.app);
  const inactive = await makeNode(fixture.app, { active: false });
  // The call lasts until it is hung up.
  await fixture.call({ from_number: "101", to_number: "9800777900" });
  assert.equal(await gauge("trunkline_calls_waiting"), 1);
  assert.ok((await gauge("trunkline_calls_waiting_seconds"))! >= 0);
  assert.equal(await gauge("trunkline_calls_live"), 0);
  assert.equal(await gauge("trunkline_voice_node_connected", idle), 0);
  assert.equal(await gauge("trunkline_calls_waiting", idle), 0);
  assert.equal(await gauge("trunkline_voice_node_connected", inactive), undefined);

  fixture.startLeaders();
  await eventually(async () => (await gauge("trunkline_calls_live")) === 1);
  assert.equal(await gauge("trunkline_calls_waiting"), 0);
  assert.equal(await gauge("trunkline_calls_waiting_seconds"), 0);
  assert.equal(await gauge("trunkline_voice_node_connected"), 1);
});

test("a scheduled call does not count as waiting", async () => {
  const schedulled_at = new Date(Date.now() + 3_600_000).toISOString();
  await fixture.call({ from_number: "101", to_number: "9800000901", schedulled_at });
  assert.equal(await gauge("trunkline_calls_waiting"), 0);
});
