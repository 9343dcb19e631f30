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
