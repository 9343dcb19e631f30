import assert from "node:assert/strict";
import { test } from "node:test";
import { readStart } from "./read-start.ts";

const now = new Date("2026-05-01T12:00:00Z");
const start = (text: string) => readStart(text, "UTC", now);

test("a start at most 60 s from now, before or after, means now; one millisecond more does not", () => {
  for (const text of ["", "2026-05-01T11:59:00Z", "2026-05-01T12:00:00Z", "2026-05-01T12:01:00Z"])
    assert.equal(start(text), null, `"${text}" means now`);
  assert.deepEqual(start("2026-05-01T12:01:00.001Z"), new Date("2026-05-01T12:01:00.001Z"));
  assert.equal(start("2026-05-01T11:58:59.999Z"), "must not be in the past; omit it to start now");
});

test("a text that is not a time is reported, and a local time is read in the account's zone", () => {
  assert.equal(typeof start("tomorrow"), "string");
  const local = readStart("2026-05-01T18:00", "Asia/Kolkata", now);
  assert.deepEqual(local, new Date("2026-05-01T12:30:00Z"));
});
