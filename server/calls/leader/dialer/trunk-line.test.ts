import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue } from "../../../../test/support/call-values.ts";
import { formatNumber, resolveLine, type TrunkLine } from "./trunk-line.ts";

const trunk: TrunkLine = {
  id: 1,
  endpoint: "carrier",
  number_format: "e164",
  number_prefix: "",
  destinations: ["*"],
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

test("dials a Mexican mobile without the 1 that it needed until 2019, and other numbers as given", () => {
  const format = (number_format: TrunkLine["number_format"], phone: string) =>
    formatNumber({ number_format, number_prefix: "" }, phone, "52");
  assert.equal(format("e164", "5215512345678"), "525512345678");
  assert.equal(format("plus_e164", "5215512345678"), "+525512345678");
  assert.equal(format("national", "5215512345678"), "5512345678");
  assert.equal(format("e164", "525512345678"), "525512345678");
  assert.equal(format("e164", "5491123456789"), "5491123456789");
});

test("shows the caller ID that the account may show; without one, the carrier sets it", () => {
  const shown = (caller_id: string | null) =>
    resolveLine(callValue({ caller_id }), trunk).caller_id;
  assert.equal(shown("9000000001"), "9000000001");
  assert.equal(shown(null), "0");
});

test("dials the customer over the trunk", () => {
  const { customer } = resolveLine(callValue(), { ...trunk, number_format: "plus_e164" });
  assert.deepEqual(customer, { kind: "trunk", endpoint: "carrier", number: "+919876543210" });
});

test("never dials a national number that the carrier would take for an international call", () => {
  const format = (phone: string, code: string) =>
    formatNumber({ number_format: "national", number_prefix: "" }, phone, code);
  assert.equal(format("910088161234", "91"), "910088161234");
  assert.equal(format("10118816123", "1"), "10118816123");
  assert.equal(format("919876543210", "91"), "9876543210");
});
