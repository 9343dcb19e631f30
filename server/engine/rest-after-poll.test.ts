import assert from "node:assert/strict";
import { test } from "node:test";
import { restAfterPoll } from "./rest-after-poll.ts";

const on = (isDistributed: boolean) => ({ isDistributed: async () => isDistributed });

test("polls keep their interval on PostgreSQL, however long they take", async () => {
  assert.equal(await restAfterPoll(on(false), { took_ms: 5_000, isIdle: true }), 0);
});

test("on a distributed database a poll that finds nothing takes less than a hundredth of the time, and rests 20 s at most", async () => {
  const rest = (took_ms: number, isIdle = true) => restAfterPoll(on(true), { took_ms, isIdle });
  assert.deepEqual([await rest(2), await rest(100), await rest(2_000)], [300, 15_000, 20_000]);
  assert.equal(await rest(100, false), 0);
});
