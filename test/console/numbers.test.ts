import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUpTo } from "../../console/ui/numbers.ts";

test("a count that ends at its maximum says that there may be more", () => {
  assert.equal(formatUpTo(99_999, 100_000), "99,999");
  assert.equal(formatUpTo(100_000, 100_000), "100,000+");
});
