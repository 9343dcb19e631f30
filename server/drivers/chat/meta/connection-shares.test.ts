import assert from "node:assert/strict";
import { test } from "node:test";
import { openConnectionShares } from "./connection-shares.ts";

/** Shares of nine connections, and the requests that use them. */
function open() {
  const shares = openConnectionShares(9);
  const running: { account: string; end: () => void }[] = [];
  const count = (account: string) => running.filter((one) => one.account === account).length;
  return {
    count,
    request(account: string, requests = 1) {
      for (let i = 0; i < requests; i++)
        shares.request(account, () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          running.push({ account, end: resolve });
          return promise;
        });
    },
    /** Ends the account's oldest request. */
    async end(account: string) {
      const [ended] = running.splice(
        running.findIndex((one) => one.account === account),
        1,
      );
      ended!.end();
      await Promise.resolve();
    },
    shares,
  };
}

test("an account alone uses all connections but one in nine, which another account gets at once", async () => {
  const { request, count, end } = open();
  request("a", 20);
  assert.equal(count("a"), 8);
  request("b", 20);
  assert.equal(count("b"), 1);
  await end("b");
  assert.deepEqual([count("a"), count("b")], [8, 1]);
});

test("a connection that becomes free goes to the account with the fewest, until they have the same number", async () => {
  const { request, count, end } = open();
  request("a", 40);
  request("b", 40);
  for (let i = 0; i < 4; i++) await end("a");
  assert.deepEqual([count("a"), count("b")], [5, 4]);
  for (let i = 0; i < 20; i++) {
    await end(i % 2 === 0 ? "a" : "b");
    assert.equal(count("a") + count("b"), 9);
    assert.ok(Math.abs(count("a") - count("b")) <= 1);
  }
});

test("an account has its connections again when the others ask for none, and its requests start in their order", async () => {
  const { request, count, end, shares } = open();
  request("b", 4);
  request("a", 4);
  const order: number[] = [];
  for (const i of [1, 2, 3, 4])
    shares.request("a", () => {
      order.push(i);
      return Promise.withResolvers<void>().promise;
    });
  for (let i = 0; i < 4; i++) await end("b");
  assert.deepEqual([count("a"), order], [4, [1, 2, 3, 4]]);
});

test("a request that needs no connection any more, or fails, takes none from the others", async () => {
  const { request, count, shares } = open();
  for (let i = 0; i < 20; i++) shares.request("a", () => null);
  for (let i = 0; i < 8; i++) shares.request("a", () => Promise.reject(new Error("failed")));
  request("a", 20);
  assert.equal(count("a"), 0);
  for (let i = 0; i < 3; i++) await Promise.resolve();
  assert.equal(count("a"), 8);
});
