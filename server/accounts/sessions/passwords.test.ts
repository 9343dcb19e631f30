import assert from "node:assert/strict";
import { test } from "node:test";
import { isPassword } from "./passwords.ts";

test("a flood of passwords from one address is refused from 52 on, and delays another address by one password", async () => {
  let checked = 0;
  const flood = Array.from({ length: 51 }, async () => {
    await isPassword("guess", null, "203.0.113.1");
    checked++;
  });
  await assert.rejects(isPassword("guess", null, "203.0.113.1"), { type: "unavailable" });
  assert.equal(await isPassword("guess", null, "203.0.113.2"), false);
  assert.ok(checked <= 2, `${checked} of the flood came first`);
  await Promise.all(flood);
});
