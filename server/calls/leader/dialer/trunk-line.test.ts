import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue } from "../../../../test/support/call-values.ts";
import { formatNumber, resolveLine, type TrunkLine } from "./trunk-line.ts";

const trunk: TrunkLine = {
  id: 1,
  endpoint: "carrier",
  number_format: "e164",
  number_prefix: "",
  caller_ids: [],
  caller_ids_only: false,
};

test("formats a number for the carrier, after its prefix", () => {
  const formatted = (number_format: TrunkLine["number_format"], phone: string, prefix = "") =>
    formatNumber({ number_format, number_prefix: prefix }, phone, "91");
  assert.equal(formatted("e164", "919876543210"), "919876543210");
  assert.equal(formatted("plus_e164", "919876543210"), "+919876543210");
  assert.equal(formatted("national", "919876543210"), "9876543210");
  assert.equal(formatted("plus_e164", "919876543210", "9"), "9+919876543210");
  assert.equal(formatted("national", "919876543210", "0"), "09876543210");
  // A number of another country, and one that only begins with the same digits.
  assert.equal(formatted("national", "447911123456"), "447911123456");
  assert.equal(formatted("national", "9198765432"), "9198765432");
});

test("shows the call's caller ID unless the carrier rejects it, else the trunk's first, else the agent's number", () => {
  const shown = (cli_number: string | null, more: Partial<TrunkLine> = {}) =>
    resolveLine(callValue({ cli_number, from_number: "101" }), { ...trunk, ...more }).caller_id;
  const listed = { caller_ids: ["8000000001", "8000000002"] };
  const only = { ...listed, caller_ids_only: true };
  assert.equal(shown("9000000000"), "9000000000");
  assert.equal(shown("9000000000", listed), "9000000000");
  assert.equal(shown("9000000000", only), "8000000001");
  assert.equal(shown("8000000002", only), "8000000002");
  assert.equal(shown(null, listed), "8000000001");
  assert.equal(shown(null), "101");
});

test("shows a campaign's caller ID on its calls, whatever caller IDs the trunk has now", () => {
  const call = callValue({ from_number: "9000000001", voice: {} as never });
  const changed = { ...trunk, caller_ids: ["9000000002"], caller_ids_only: true };
  assert.equal(resolveLine(call, changed).caller_id, "9000000001");
});

test("dials the customer over the trunk", () => {
  const { customer } = resolveLine(callValue(), { ...trunk, number_format: "plus_e164" });
  assert.deepEqual(customer, { kind: "trunk", endpoint: "carrier", number: "+919876543210" });
});
