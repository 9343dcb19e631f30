import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, invalid, refusals, unavailable, type RefusalType } from "../../lib/errors.ts";
import { renderCallError } from "./render-call-error.ts";

const shown = (refusal: Refusal) => renderCallError(refusal, "req_1");

test("renders every error as its status and a message, and as 400 where the standard shape has another status", () => {
  const own: Partial<Record<RefusalType, number>> = {
    "validation-failed": 400,
    "insufficient-credit": 400,
    "unsupported-media-type": 400,
  };
  for (const type of Object.keys(refusals) as RefusalType[]) {
    const status = own[type] ?? refusals[type].status;
    const answer = shown(new Refusal(type, "What is wrong"));
    assert.deepEqual(answer, {
      status,
      contentType: "application/json; charset=utf-8",
      body: { status, message: "What is wrong" },
    });
  }
});

test("the message names at most a hundred failing fields and reports that there are more", () => {
  const errors = Array.from({ length: 101 }, (_, i) => ({
    field: `k${i}`,
    reason: "unknown field",
  }));
  const { message } = shown(invalid(errors)).body as { message: string };
  assert.match(message, /k99: unknown field; More than 100 fields are not valid; /);
  assert.doesNotMatch(message, /k100/);
});

test("the message names every failing field with its reason", () => {
  const errors = [
    { field: "to_number", reason: "is required" },
    { field: "cli_number", reason: "must be exactly 10 digits" },
  ];
  assert.deepEqual(shown(invalid(errors)).body, {
    status: 400,
    message: "to_number: is required; cli_number: must be exactly 10 digits",
  });
});

test("a database outage is 500, because the call may have been placed; an overloaded or stopping server is 503", () => {
  const away = Object.assign(new Error("terminating connection"), { code: "57P01" });
  assert.equal(shown(unavailable(away)).status, 500);
  assert.equal(shown(unavailable(new Error("the server is stopping"))).status, 503);
});
