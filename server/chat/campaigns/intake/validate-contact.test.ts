import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileValidator } from "../../../api/compile-validator.ts";
import { fieldErrors } from "../../../api/field-errors.ts";
import { Contact } from "../chat-campaign-schema.ts";
import { contactViolations, isContact } from "./validate-contact.ts";

const isBySchema = compileValidator({ schema: Contact, httpPart: "body" });

const anything = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
);
const key = fc.oneof(fc.string(), fc.constantFrom("a\nb", "\r", "\u2028", "\u2029"));
const variables = fc.oneof(fc.dictionary(key, fc.string()), fc.dictionary(key, anything), anything);
const row = fc.oneof(
  anything,
  fc.record({ phone_number: fc.string(), variables }, { requiredKeys: [] }),
  fc.record(
    { phone_number: anything, variables, phone: fc.string(), variable: variables, x: anything },
    { requiredKeys: [] },
  ),
);

test("the shape of a contact is validated as its schema says, with the same violations", () => {
  fc.assert(
    fc.property(row, (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as unknown;
      const good = isBySchema(plain);
      const expected = fieldErrors(isBySchema.errors ?? []);
      assert.equal(isContact(plain), good);
      const found = contactViolations(plain, "row", 1_000);
      const named = (violations: readonly { field: string; reason: string }[]) =>
        violations.map(({ field, reason }) => `${field} ${reason}`).toSorted();
      const at = (field: string) => (field === "body" ? "row" : `row.${field}`);
      const inRow = expected.map(({ field, reason }) => ({ field: at(field), reason }));
      assert.deepEqual(named(found), named(inRow));
    }),
    { numRuns: 3_000 },
  );
});

test("a contact may bring many variables, but not any number", () => {
  const of = (count: number) => ({
    phone_number: "x",
    variables: Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, "x"])),
  });
  assert.ok(isContact(of(1_000)) && isBySchema(of(1_000)));
  assert.ok(!isContact(of(1_001)) && !isBySchema(of(1_001)));
  assert.deepEqual(
    contactViolations(of(1_001), "row", 10).map(({ field }) => field),
    ["row.variables"],
  );
});
