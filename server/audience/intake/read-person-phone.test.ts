import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readCountryPhone, readPersonPhone } from "./read-person-phone.ts";

test("a number of the account's country is read in every usual spelling", () => {
  for (const [code, phone, spellings] of [
    [
      "44",
      "447911123456",
      [
        "7911 123456",
        "07911 123456",
        "+44 7911 123456",
        "+44 (0) 7911 123456",
        "+44(0)7911-123456",
        "44 (0) 7911 123456",
        "0044 (0) 7911 123456",
        "+44\u00a0(0)\u00a07911\u00a0123456",
        "\u202a+44 (0) 7911 123456\u202c",
      ],
    ],
    ["91", "919876543210", ["9876543210", "+91 (0) 98765 43210", "+٩١ (٠) ٩٨٧٦٥ ٤٣٢١٠"]],
    ["54", "5491123456789", ["+54 9 11 2345-6789", "0054 9 11 2345 6789", "5491123456789"]],
    ["54", "541123456789", ["11 2345-6789", "+54 11 2345-6789"]],
    ["52", "5215512345678", ["+52 1 55 1234 5678", "5215512345678"]],
    ["52", "525512345678", ["55 1234 5678", "+52 55 1234 5678"]],
    ["55", "5511987654321", ["+55 (11) 98765-4321"]],
    ["55", "551187654321", ["+55 (11) 8765-4321"]],
  ] as const)
    for (const written of spellings) assert.equal(readCountryPhone(written, code), phone, written);
});

test("a number of another country, of another length or with other characters is none of the account's country", () => {
  for (const [code, written] of [
    ["91", "+44 (0) 7911 123456"],
    ["91", "+54 9 11 2345 6789"],
    ["91", "98765432101"],
    ["91", "987654321"],
    ["91", "9876543210 9876543211"],
    ["49", "+49 (0) 151 23456789"],
    ["44", "tel:+447911123456"],
    ["44", "+44 (0) 7911 123456 ext. 5"],
    ["44", "+44 (0) 7911/123456"],
    ["91", "+91 (0) ९८७६५ ४३२१०"],
    ["91", ""],
    ["91", "00 91 98765 43"],
    ["91", "+910987654321"],
    ["91", "910987654321"],
    ["90", "+90 (0) 555 123 456"],
    ["44", "44 (0) 7911 12345"],
  ] as const)
    assert.equal(readCountryPhone(written, code), null, written);
});

test("a file of leads and a suppression read one text as one number", () => {
  const codes = ["91", "1", "44", "39", "225", "90", "52", "54", "55", "57", "98"];
  const parts = fc.tuple(
    fc.constantFrom(...codes),
    fc.constantFrom("", "0", "00", "+"),
    fc.boolean(),
    fc.constantFrom("", "0", "9", "1"),
    fc.stringMatching(/^[0-9]{7,11}$/),
  );
  fc.assert(
    fc.property(parts, ([code, sign, hasCode, prefix, digits]) => {
      const text = `${sign}${hasCode ? code : ""} ${prefix} ${digits}`;
      const lead = readCountryPhone(text, code);
      if (lead !== null) assert.equal(readPersonPhone(text, code), lead, `${code}: ${text}`);
    }),
    { numRuns: 5_000 },
  );
});

test("a suppression reads 00 and the account's calling code as a file of leads does", () => {
  for (const written of ["0044 (0) 7911 123456", "0044 7911 123456", "44 (0) 7911 123456"])
    assert.equal(readPersonPhone(written, "44"), "447911123456", written);
  assert.equal(readPersonPhone("0054 9 11 2345 6789", "54"), "5491123456789");
  assert.equal(readPersonPhone("+39 06 1234 5678", "39"), "390612345678");
  for (const written of ["0047 12345678", "00 98765 4321"])
    assert.equal(readPersonPhone(written, "91"), null, written);
});
