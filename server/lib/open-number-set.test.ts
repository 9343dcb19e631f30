import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openNumberSet } from "./open-number-set.ts";

test("a number is new once, however many there are and however long", () => {
  const digits = fc.oneof(
    fc.integer({ min: 1, max: 5_000 }).map((n) => String(919_800_000_000 + n)),
    fc.bigInt({ min: 100n, max: 10n ** 15n - 1n }).map(String),
    fc.bigInt({ min: 10n ** 15n, max: 10n ** 20n - 1n }).map(String),
  );
  fc.assert(
    fc.property(fc.array(digits, { maxLength: 5_000, size: "max" }), (all) => {
      const known = new Set<string>();
      const set = openNumberSet();
      for (const one of all) {
        assert.equal(set.add(one), !known.has(one));
        known.add(one);
      }
    }),
    { numRuns: 50 },
  );
});
