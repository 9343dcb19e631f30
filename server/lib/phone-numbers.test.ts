import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import metadata from "libphonenumber-js/max/metadata";
import { isZeroPrefix, nationalPhone, tenDigits, tenDigitsOfPhone } from "./phone-numbers.ts";

const ten = fc.stringMatching(/^[1-9][0-9]{9}$/);
const country = fc.stringMatching(/^[1-9][0-9]{0,2}$/);
const gap = fc.constantFrom("", " ", "-", ".", "(", ")", " ", "–", "\u202a", "\u2060", "[", "]");

test("ten digits are found whatever prefix and signs people write around them", () => {
  fc.assert(
    fc.property(
      ten,
      country,
      fc.array(gap, { minLength: 20, maxLength: 20 }),
      (digits, code, gaps) => {
        const zero = isZeroPrefix(code) ? [`+${code}0`, `${code}0`, `00${code}0`] : [];
        for (const prefix of ["", "0", code, `+${code}`, `00${code}`, ...zero]) {
          const written = (prefix + digits)
            .split("")
            .map((sign, i) => sign + gaps[i]!)
            .join("");
          // A dot before nothing but zeros makes it a decimal.
          if (/\.0+\s*$/.test(written.replaceAll(/\p{Cf}/gu, ""))) continue;
          assert.equal(tenDigits(written, code), digits, written);
        }
      },
    ),
  );
});

test("ten digits are themselves whatever the first ones are", () => {
  for (const digits of ["0987654321", "0091987654", "9198765432"]) {
    assert.equal(tenDigits(digits, "91"), digits);
    assert.equal(tenDigitsOfPhone(`91${digits}`, "91"), digits);
  }
});

test("no digit of a prefix counts as one of the ten", () => {
  for (const text of [
    "00 91 98765 43",
    "00 91 98765 432",
    "+91 0987654321",
    "91 (0) 98765 4321",
    "0091 (0) 98765 4321",
    "00 98765 4321",
  ])
    assert.equal(tenDigits(text, "91"), null, text);
  // A 0 that belongs to the number: fixed lines in Italy, all numbers in Côte d'Ivoire.
  assert.equal(tenDigits("+39 06 1234 5678", "39"), "0612345678");
  assert.equal(tenDigits("0039 06 1234 5678", "39"), "0612345678");
  assert.equal(tenDigits("+225 07 12 34 56 78", "225"), "0712345678");
});

test("a 0 after a calling code is a prefix where libphonenumber reads it as one", () => {
  for (const [code, countries] of Object.entries(metadata.country_calling_codes)) {
    type Entry = { readonly 3: readonly number[]; readonly 5?: string; readonly 7?: string };
    const entries = countries.map((one) => metadata.countries[one] as unknown as Entry);
    if (!entries.some(({ 3: lengths }) => lengths.includes(10))) continue;
    const prefix = entries[0]![7] || entries[0]![5];
    const isPrefix = Boolean(prefix) && new RegExp(`^(?:${prefix})`).test("0987654321");
    assert.equal(isZeroPrefix(code), isPrefix, code);
  }
});

test("what is not a number of the account's country is none", () => {
  for (const text of [
    "",
    "123456789",
    "98765432101",
    "+9876543210",
    "+449876543210",
    "9.8E+09",
    "9876543210x",
  ]) {
    assert.equal(tenDigits(text, "91"), null, text);
  }
});

test("the fraction of a number that was written as a decimal is not part of it", () => {
  for (const text of [
    "9876543210.0",
    "919876543210.00",
    " +919876543210.0 ",
    "\u202a9876543210.0\u202c",
  ])
    assert.equal(tenDigits(text, "91"), "9876543210", text);
  assert.equal(tenDigits("٩٨٧٦٥٤٣٢١٠.٠", "91"), "9876543210");
  for (const text of [
    "987654321.0",
    "98765432.00",
    "\u202a987654321.0\u202c\u200e",
    "987654321.0\n",
  ])
    assert.equal(tenDigits(text, "91"), null, text);
});

test("a number gets the country code unless its + says that it has one", () => {
  assert.equal(nationalPhone("98765 43210", "91"), "919876543210");
  assert.equal(nationalPhone("09876543210", "91"), "919876543210");
  // Without the country code these digits are a number of Japan.
  for (const text of ["\u202a81234 56789", "8123–456–789", "８１２３４５６７８９", "٨١٢٣٤٥٦٧٨٩"])
    assert.equal(nationalPhone(text, "91"), "918123456789", text);
  assert.equal(nationalPhone("919876543210", "91"), "919876543210");
  for (const text of ["+6591234567", "+919876543210", "4479111234567", "none"])
    assert.equal(nationalPhone(text, "91"), null, text);
});
