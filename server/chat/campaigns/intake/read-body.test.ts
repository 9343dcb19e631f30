import assert from "node:assert/strict";
import { test } from "node:test";
import { contacts_max } from "./limits.ts";
import { readBody } from "./read-body.ts";

const head = { name: "Spring sale", chat_number_id: 1, template_id: 2 };
const valid = [
  { phone_number: "919812345678", variables: { b: "x", a: "é" } },
  { phone_number: "+91 98123 45679", variables: null },
  { phone_number: "x" },
];

const read = (contacts: unknown) => {
  const body = Buffer.from(JSON.stringify({ ...head, contacts }));
  return readBody(body, { account_id: 1, valid_only: false, form: "lines" });
};
const fingerprint = (contacts: unknown) => Buffer.from(read(contacts).sha256).toString("hex");

test("the fingerprint of a valid body never changes, because stored keys are compared with it", () => {
  assert.equal(
    fingerprint(valid),
    "431202a45e482fd64674e67a2d55bab91724b73f9c15b042419483b88dcdc07e",
  );
});

test("an invalid body has another fingerprint than the valid body that its valid entries make", () => {
  const entries: unknown[] = [
    { phone_number: 919_812_345_679 },
    5,
    null,
    {},
    { phone_number: "919812345679", variable: {} },
    { phone_number: "919812345679", variables: { a: 1 } },
    { phone_number: "919812345679", variables: { a: "x".repeat(262_144) } },
  ];
  for (const entry of entries) {
    for (const contacts of [
      [...valid, entry],
      [entry, ...valid],
    ]) {
      assert.equal(read(contacts).violations.length, 1);
      assert.notEqual(fingerprint(contacts), fingerprint(valid));
    }
  }
  assert.notEqual(fingerprint([5]), fingerprint([]));
});

test("a body with more entries than allowed has another fingerprint than one that ends at the limit", () => {
  const allowed = Array.from({ length: contacts_max }, () => ({ phone_number: "x" }));
  assert.equal(read(allowed).violations.length, 0);
  assert.notEqual(fingerprint([...allowed, { phone_number: "x" }]), fingerprint(allowed));
});
