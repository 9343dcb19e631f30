import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import metadata from "libphonenumber-js/max/metadata";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { openPhoneReader } from "./chat-phone-numbers.ts";

const read = openPhoneReader({ valid_only: false });
const readValid = openPhoneReader({ valid_only: true });

const calling_codes = [
  ...Object.keys(metadata.country_calling_codes),
  ...Object.keys(metadata.nonGeographic),
];

/** Reads bare digits with the library only, which does not know Mexico's older spelling any more. */
function byLibrary(digits: string): string | null {
  const phone = parsePhoneNumberFromString(`+${digits}`, { extract: false });
  if (phone?.isPossible()) return phone.number.slice(1);
  const [, national] = /^521([0-9]{10})$/.exec(digits) ?? [];
  return national !== undefined && byLibrary(`52${national}`) !== null ? digits : null;
}

const digits = (min: number, max: number) =>
  fc.stringMatching(new RegExp(`^[0-9]{${min},${max}}$`));

test("older spellings of Mexican, Brazilian and Argentine mobiles are accepted", () => {
  for (const old of ["5215512345678", "+52 1 55 1234 5678"])
    assert.equal(read(old), "5215512345678");
  assert.equal(read("555187654321"), "555187654321");
  assert.equal(read("5491123456789"), "5491123456789");
  assert.equal(read("541123456789"), "541123456789");
  assert.equal(read("52155123456789"), null);
});

test("the table has every calling code, including non-geographic ones", () => {
  for (const code of ["1", "7", "44", "91", "800", "808", "870", "878", "881", "882", "883", "888"])
    assert.ok(calling_codes.includes(code), code);
  assert.equal(read("979123456789"), "979123456789");
  assert.equal(read("80012345678"), "80012345678");
});

test("every calling code's numbers are validated as the library validates them, at every length", () => {
  for (const code of calling_codes) {
    for (let length = 1; length <= 19; length++) {
      for (const first of "0123456789") {
        for (const rest of ["1234567890123456789", "0000000000000000000", "9876543210987654321"]) {
          const number = code + first + rest.slice(0, length - 1);
          assert.equal(read(number), byLibrary(number), number);
        }
      }
    }
  }
});

test("random numbers of all calling codes are validated as the library validates them", () => {
  const number = fc
    .tuple(
      fc.constantFrom(...calling_codes),
      fc.constantFrom("", "0", "1", "8", "06"),
      digits(1, 18),
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(number, (text) => assert.equal(read(text), byLibrary(text))),
    { numRuns: 30_000 },
  );
});

test("random digits are validated as the library validates them", () => {
  fc.assert(
    fc.property(digits(0, 25), (text) => assert.equal(read(text), byLibrary(text))),
    { numRuns: 5_000 },
  );
});

test("punctuation around the digits changes nothing", () => {
  const sign = fc.constantFrom(
    "",
    " ",
    "-",
    ".",
    "(",
    ")",
    "[",
    "]",
    "+",
    "\u00A0",
    "\u2011",
    "\u202A",
    "\u202C",
    "\uFEFF",
  );
  fc.assert(
    fc.property(
      fc.constantFrom("919876543210", "14155552671", "447911123456", "4915112345678"),
      fc.array(sign, { minLength: 14, maxLength: 14 }),
      (number, signs) => {
        const written = number
          .split("")
          .map((digit, i) => signs[i]! + digit)
          .join("");
        // A dot before nothing but zeros makes it a decimal.
        fc.pre(!/\.0+\s*$/.test((written + signs[13]!).replaceAll(/\p{Cf}/gu, "")));
        assert.equal(read(written + signs[13]!), number);
        assert.equal(readValid(written + signs[13]!), number);
      },
    ),
  );
});

test("the fraction of a number that was written as a decimal is not part of it", () => {
  for (const written of ["919876543210.0", "+919876543210.00 ", "\u202a919876543210.0\u202c"]) {
    assert.equal(read(written), "919876543210", written);
    assert.equal(readValid(written), "919876543210", written);
  }
  assert.equal(read("91987654321.0"), read("91987654321"));
});

test("no text makes the readers throw, and their output is valid input", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.string({ unit: fc.constantFrom(..."+-() .0123456789x".split("")) }),
  );
  fc.assert(
    fc.property(text, (any) => {
      for (const reader of [read, readValid])
        assert.match(reader(any) ?? "123", /^[1-9][0-9]{2,19}$/);
    }),
    { numRuns: 5_000 },
  );
});

test("a national 0 behind the calling code is dropped, an Italian one kept", () => {
  assert.equal(read("+44 (0) 7911 123456"), "447911123456");
  assert.equal(read("+39 06 1234 5678"), "390612345678");
});

test("digits of other scripts are read as far as the library reads them", () => {
  for (const written of ["٩١٩٨٧٦٥٤٣٢١٠", "+۹۱۹۸۷۶۵۴۳۲۱۰", "＋９１９８７６５４３２１０"]) {
    assert.equal(read(written), "919876543210", written);
  }
  assert.equal(read("९१९८७६५४३२१०"), null);
});

test("text that is not a number with its calling code is refused", () => {
  for (const text of [
    "",
    " ",
    "+",
    "abc",
    "9876543210",
    "00919876543210",
    "+91 98765 4321x",
    "+919876543210 ext. 5",
    "+91 98765/43210",
    "9.19876E+11",
    "+9198765432109999",
    "+2101234567",
    `+919876543210${" ".repeat(300)}`,
  ]) {
    assert.equal(read(text), null, text);
    assert.equal(readValid(text), null, text);
  }
});

test("a possible number in an unassigned range is accepted unless only valid numbers are", () => {
  assert.equal(read("+1 555 555 5555"), "15555555555");
  assert.equal(readValid("+1 555 555 5555"), null);
  assert.equal(readValid("+91 98765 43210"), "919876543210");
});
