import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Refusal } from "./errors.ts";
import { parseJsonBody } from "./json-body.ts";

const parse = (text: string) => parseJsonBody(Buffer.from(text));

function refusal(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "nothing was refused" });
}

test("any JSON value of modest depth is taken as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
      const text = JSON.stringify(value);
      // Integers beyond 64 bits are the one kind of JSON that is not storable as it is.
      fc.pre(!/\d{19}|[eE]\+/.test(text) && !/\\u(0000|d[89a-f])/i.test(text));
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
  );
});

test("text that is not JSON, not UTF-8 or empty is malformed-body", () => {
  for (const text of ["", " ", "{", '{"a":}', "{'a':1}", "[1,]", "nul", '{"a":1}x', '"\0"']) {
    assert.equal(refusal(() => parse(text)).type, "malformed-body", JSON.stringify(text));
  }
  assert.equal(
    refusal(() => parseJsonBody(Buffer.from([0x22, 0xff, 0x22]))).type,
    "malformed-body",
  );
});

test("accepts a byte order mark", () => {
  assert.deepEqual(parse('\uFEFF{"a":1}'), { a: 1 });
});

test("NUL and half surrogate pairs are named with their field, in values and in keys", () => {
  assert.deepEqual(refusal(() => parse('{"a":{"b":["x","\\u0000"]},"c":"\\ud800"}')).errors, [
    { field: "a.b.1", reason: "contains a NUL character" },
    { field: "c", reason: "contains half of a surrogate pair" },
  ]);
  assert.deepEqual(refusal(() => parse('{"\\u0000":1}')).errors, [
    { field: "body", reason: "has a key that contains a NUL character" },
  ]);
  assert.deepEqual(parse('"\\ud83d\\ude00 \\\\u0000"'), "😀 \\u0000");
});

test("the last integer of 64 bits is taken and the next is refused", () => {
  assert.equal(parse("9223372036854775807"), 2 ** 63);
  assert.equal(parse("-9223372036854775808"), -(2 ** 63));
  for (const digits of ["9223372036854775808", "-9223372036854775809", "1".repeat(400)]) {
    assert.deepEqual(refusal(() => parse(`{"id":${digits}}`)).errors, [
      { field: "id", reason: "is an integer beyond 64 bits" },
    ]);
  }
  assert.deepEqual(parse('{"phone":"98765432109876543210"}'), { phone: "98765432109876543210" });
});

test("nesting beyond 32 levels is refused without being parsed, however deep", () => {
  assert.doesNotThrow(() => parse("[".repeat(32) + "]".repeat(32)));
  for (const depth of [33, 100_000]) {
    const deep = refusal(() => parse("[".repeat(depth) + "]".repeat(depth)));
    assert.deepEqual(deep.errors, [{ field: "body", reason: "is nested deeper than 32 levels" }]);
  }
  assert.doesNotThrow(() => parse(JSON.stringify({ text: "[{".repeat(1_000) + '\\"' })));
});

test("a key that comes twice beside a long number is read like any other", () => {
  const twice = `{"x\\"list":{},"list":2,"\\"":{"":null},"":1874688916833175,"":8}`;
  assert.deepEqual(parseJsonBody(Buffer.from(twice)), JSON.parse(twice));
  const tooLong = twice.replace("null", "100000000000000000000");
  assert.throws(() => parseJsonBody(Buffer.from(tooLong)), /beyond 64 bits/);
});
