import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseTrunk, type TrunkOnNode } from "./choose-trunk.ts";

const trunk = (node_id: number, more: Partial<TrunkOnNode> = {}): TrunkOnNode => ({
  trunk_id: 1,
  node_id,
  driver: "sandbox",
  connected: true,
  own: false,
  allows_caller_id: true,
  calls_per_second: 10,
  ...more,
});

/** How many of a hundred evenly spread chances each node gets. */
function spread(trunks: readonly TrunkOnNode[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (let i = 0; i < 100; i++) {
    const node = chooseTrunk(trunks, i / 100)!.node_id;
    counts[node] = (counts[node] ?? 0) + 1;
  }
  return counts;
}

test("calls are spread over the nodes by the trunk's share of each", () => {
  assert.deepEqual(spread([trunk(1), trunk(2, { calls_per_second: 30 })]), { 1: 25, 2: 75 });
});

test("a connected node comes first, then a trunk that is the account's alone", () => {
  const away = { connected: false };
  assert.deepEqual(spread([trunk(1, away), trunk(2)]), { 2: 100 });
  assert.deepEqual(spread([trunk(1), trunk(2, { own: true })]), { 2: 100 });
  assert.deepEqual(spread([trunk(1), trunk(2, { own: true, ...away })]), { 1: 100 });
  assert.deepEqual(spread([trunk(1, away), trunk(2, { own: true, ...away })]), { 2: 100 });
});

test("without a trunk there is none to choose", () => {
  assert.equal(chooseTrunk([], 0.5), null);
});
