import assert from "node:assert/strict";
import { test } from "node:test";
import Type from "typebox";
import { closed } from "../lib/schemas.ts";
import { compileValidator } from "./compile-validator.ts";

const schema = closed({
  names: Type.Optional(Type.Array(Type.String({ minLength: 1, pattern: "^[a-z]*$" }))),
  either: Type.Optional(Type.Union([Type.Array(Type.Integer()), Type.Array(Type.String())])),
});
const isValid = compileValidator({ schema, httpPart: "body" });
const many = <Value>(value: Value) => Array.from({ length: 300_000 }, () => value);

test("validation stops reading an invalid body at a thousand errors", () => {
  const unknown = Object.fromEntries(many(1).map((value, i) => [`k${i}`, value]));
  for (const body of [{ names: many(7) }, { either: many(null) }, unknown]) {
    assert.equal(isValid(body), false);
    assert.equal(isValid.errors?.length, 1_000);
  }
});

test("a body that one of several alternatives describes is valid, however often the others fail", () => {
  assert.equal(isValid({ either: many("text") }), true);
});

test("an invalid body with fewer errors names all of them", () => {
  assert.equal(isValid({ names: ["ok", 1, "", "NO"], other: 1 }), false);
  assert.deepEqual(
    isValid.errors?.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`).toSorted(),
    [" additionalProperties", "/names/1 type", "/names/2 minLength", "/names/3 pattern"],
  );
});
