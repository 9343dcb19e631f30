import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import metadata from "libphonenumber-js/max/metadata";
import {
  beginsWithExitCode,
  destinationOf,
  hasDestination,
  homeCountries,
  isDestination,
} from "./phone-destinations.ts";

const barred = (phone: string) => destinationOf(phone).barred;
const country = (phone: string) => destinationOf(phone).country;

const digits = (minLength: number, maxLength = minLength) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((each) => each.join(""));

test("bars premium-rate, shared-cost and personal numbers", () => {
  for (const phone of [
    "19005550123",
    "19000000000",
    "447012345678",
    "449091234567",
    "979123456789",
  ])
    assert.equal(barred(phone), "premium_rate", phone);
  // Dialed without the former 1 of Mexican mobiles.
  assert.equal(barred("5219001234567"), "premium_rate");
  // Switches ignore further digits.
  assert.equal(barred("398921234567"), "premium_rate");
});

test("bars satellite phones, international networks and unassigned country codes, whatever follows", () => {
  const codes = {
    satellite: ["870", "881"],
    international_network: ["882", "883", "888"],
    premium_rate: ["979", "808", "878", "1900"],
    unassigned: ["999", "210", "384", "00", "037"],
  } as const;
  for (const [kind, prefixes] of Object.entries(codes))
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), digits(4, 12), (prefix, rest) => {
        assert.equal(barred(prefix + rest), kind);
      }),
    );
});

test("allows every ten-digit number in the country of the demo, and unlisted numbers of other countries", () => {
  fc.assert(
    fc.property(digits(10), (number) => {
      assert.deepEqual(destinationOf(`91${number}`), { country: "IN", barred: null });
    }),
    { numRuns: 2_000 },
  );
  for (const phone of ["15551234567", "11234567890", "440000000000", "497777777777"])
    assert.equal(barred(phone), null, phone);
});

test("gives every number of an assigned code a country that can be allowed", () => {
  const codes = Object.keys(metadata.country_calling_codes);
  fc.assert(
    fc.property(fc.constantFrom(...codes), digits(10), (code, number) => {
      const destination = destinationOf(code + number);
      assert.ok(destination.country !== null && isDestination(destination.country));
      assert.ok(hasDestination(["*"], destination.country));
    }),
    { numRuns: 1_000 },
  );
});

test("divides +1 by country, also for numbers that are not listed", () => {
  assert.equal(country("18765550123"), "JM");
  assert.equal(country("18761110000"), "JM");
  assert.equal(country("12425550123"), "BS");
  assert.equal(country("14165550123"), "CA");
  assert.equal(country("12125550123"), "US");
  assert.equal(country("15551234567"), "US");
  assert.deepEqual(homeCountries("1"), ["US", "CA"]);
  assert.deepEqual(homeCountries("91"), ["IN"]);
  assert.deepEqual(homeCountries("999"), []);
});

test("a number without a country is allowed only where every destination is", () => {
  assert.equal(country("80012345678"), null);
  assert.equal(hasDestination(["IN"], null), false);
  assert.equal(hasDestination(["IN", "*"], null), true);
  assert.equal(isDestination("XX"), false);
  assert.equal(isDestination("*"), true);
});

test("recognizes the prefix of international calls", () => {
  assert.equal(beginsWithExitCode("0088161234", "91"), true);
  assert.equal(beginsWithExitCode("0118816123", "1"), true);
  assert.equal(beginsWithExitCode("9876543210", "91"), false);
  assert.equal(beginsWithExitCode("0088161234", "999"), false);
});
