import assert from "node:assert/strict";
import { test } from "node:test";
import { readLeadsSearch } from "../../console/pages/leads/leads-search.ts";
import { parseSearch, stringifySearch } from "../../console/shell/search-params.ts";
import { readPhoneSearch } from "../../console/ui/read-phone-search.ts";

test("a number in an address has no quotes, and the page reads what it wrote", () => {
  for (const number of ["9876543210", "0801234", "101", "98765432109876543210", "+919876543210"]) {
    const written = stringifySearch({ phone_number: number, q: number });
    assert.doesNotMatch(written, /%22/);
    assert.deepEqual(readPhoneSearch(parseSearch(written)), { phone_number: number });
    assert.deepEqual(readLeadsSearch(parseSearch(written)), { q: number });
  }
});

test("an address with quotes, as earlier versions wrote it, is read the same", () => {
  assert.deepEqual(
    { ...parseSearch("?to=%229876543210%22&campaign_id=7") },
    { to: "9876543210", campaign_id: 7 },
  );
});

test("texts that look like another value, and lists, keep their type", () => {
  for (const search of [{ q: "true" }, { q: "null" }, { q: "1e5" }, { columns: ["Name", "7"] }])
    assert.deepEqual({ ...parseSearch(stringifySearch(search)) }, search);
});
