import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "./errors.ts";
import { openSlots } from "./slots.ts";

test("at most the slots run at once, others wait, and those beyond the queue are 503", async () => {
  const slots = openSlots(2, 3);
  const order: number[] = [];
  const ends: (() => void)[] = [];
  const work = (i: number) =>
    slots.use(() => {
      order.push(i);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(resolve);
      return promise;
    });
  const all = [1, 2, 3, 4, 5].map(work);
  await assert.rejects(
    work(6),
    (error) => error instanceof Refusal && error.type === "unavailable",
  );
  assert.deepEqual(order, [1, 2]);
  for (let i = 0; i < 5; i++) {
    ends[i]!();
    await all[i];
  }
  assert.deepEqual(order, [1, 2, 3, 4, 5]);
});

test("failed work releases its slot", async () => {
  const slots = openSlots(1, 0);
  await assert.rejects(
    slots.use(() => Promise.reject(new Error("failed"))),
    /failed/,
  );
  assert.equal(await slots.use(async () => "free"), "free");
});
