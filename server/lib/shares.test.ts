import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { Refusal } from "./errors.ts";
import { openShares } from "./shares.ts";

/** Starts work that ends on request. */
function openWork(shares: ReturnType<typeof openShares>) {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (holder: number, name: string) =>
    shares.use(holder, () => {
      running.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    });
  return { running, start, end: (name: string) => ends.get(name)!() };
}

test("a holder has at most its share, and its waiting work takes no other holder's slot", async () => {
  const { running, start, end } = openWork(openShares(3, 2, 10));
  const all = [start(1, "a"), start(1, "b"), start(1, "c"), start(1, "d"), start(2, "e")];
  await settled();
  assert.deepEqual(running, ["a", "b", "e"]);
  for (const name of ["a", "b", "e"]) end(name);
  await settled();
  assert.deepEqual(running, ["a", "b", "e", "c", "d"]);
  for (const name of ["c", "d"]) end(name);
  await Promise.all(all);
});

test("all holders together have at most the slots", async () => {
  const { running, start, end } = openWork(openShares(3, 2, 10));
  const all = [start(1, "a"), start(1, "b"), start(2, "c"), start(2, "d"), start(3, "e")];
  await settled();
  assert.deepEqual(running, ["a", "b", "c"]);
  end("a");
  await settled();
  assert.deepEqual(running, ["a", "b", "c", "d"]);
  for (const name of ["b", "c", "d"]) end(name);
  await settled();
  end("e");
  await Promise.all(all);
});

test("a holder's full queue is 503 for that holder only, and failed work releases its share", async () => {
  const shares = openShares(3, 1, 0);
  const { start, end } = openWork(shares);
  const held = start(1, "a");
  const isUnavailable = (error: unknown) =>
    error instanceof Refusal && error.type === "unavailable";
  await assert.rejects(start(1, "b"), isUnavailable);
  await assert.rejects(
    shares.use(2, () => Promise.reject(new Error("failed"))),
    /failed/,
  );
  assert.equal(await shares.use(2, async () => "free"), "free");
  end("a");
  await held;
  assert.equal(await shares.use(1, async () => "free"), "free");
});
