import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi } from "../../../test/support/api.ts";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { makeNode, makePhoneNumber, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { statement } from "../../lib/database/database.ts";
import { chooseTrunk, findTrunks, type TrunkOnNode } from "./choose-trunk.ts";

const trunk = (node_id: number, more: Partial<TrunkOnNode> = {}): TrunkOnNode => ({
  trunk_id: 1,
  node_id,
  driver: "sandbox",
  connected: true,
  own: false,
  allows_caller_id: true,
  agent_numbers: "verified",
  destinations: ["*"],
  calls_per_second: 10,
  ...more,
});

/** Returns how many of a hundred evenly spaced random values choose each node. */
function spread(trunks: readonly TrunkOnNode[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (let i = 0; i < 100; i++) {
    const node = chooseTrunk(trunks, i / 100)!.node_id;
    counts[node] = (counts[node] ?? 0) + 1;
  }
  return counts;
}

test("calls are distributed over the nodes by the trunk's calls per second on each", () => {
  assert.deepEqual(spread([trunk(1), trunk(2, { calls_per_second: 30 })]), { 1: 25, 2: 75 });
});

test("prefers connected nodes, then the account's own trunks", () => {
  const away = { connected: false };
  assert.deepEqual(spread([trunk(1, away), trunk(2)]), { 2: 100 });
  assert.deepEqual(spread([trunk(1), trunk(2, { own: true })]), { 2: 100 });
  assert.deepEqual(spread([trunk(1), trunk(2, { own: true, ...away })]), { 1: 100 });
  assert.deepEqual(spread([trunk(1, away), trunk(2, { own: true, ...away })]), { 2: 100 });
});

test("returns null without a trunk", () => {
  assert.equal(chooseTrunk([], 0.5), null);
});

test("a chosen trunk allows the caller IDs that the function allows_caller_id does", async (t) => {
  const { app, close } = await startApi();
  t.after(close);
  const { pool } = app.db;
  const mine = await makeAccount(app);
  const other = await makeAccount(app);
  const numbers = ["918000000001", "918000000002", "8000000003", "5550100"];
  await makePhoneNumber(app, mine, numbers[0]!);
  await makePhoneNumber(app, other, numbers[1]!);
  const node = await makeNode(app);
  for (const caller_ids_only of [false, true])
    for (const only of [{}, { only_account_id: mine.account_id }])
      for (const caller_ids of [[], numbers])
        await makeTrunk(app, [node], { caller_ids_only, caller_ids, ...only });
  const askFunction = statement<{ id: number; allowed: boolean }>(
    "select t.id, allows_caller_id($1, row(t.*)::trunks, $2) as allowed from trunks t",
  );
  const seen = new Set<boolean>();
  for (const { account_id } of [mine, other])
    for (const number of [...numbers, "8000000001", "918000000003", "15550100", "9195550100"]) {
      const allowed = new Map(
        (await askFunction(pool, [account_id, number])).map((one) => [one.id, one.allowed]),
      );
      for (const { trunk_id, allows_caller_id } of await findTrunks(pool, [account_id, number])) {
        assert.equal(allows_caller_id, allowed.get(trunk_id), `${account_id}, ${number}`);
        seen.add(allows_caller_id);
      }
    }
  assert.deepEqual(seen, new Set([true, false]));
});
