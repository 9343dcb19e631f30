// The countries that the console offers.
import assert from "node:assert/strict";
import { test } from "node:test";
import metadata from "libphonenumber-js/max/metadata";
import { countryName, country_codes } from "../../console/messages/countries.ts";

test("the console offers every country that may be a destination, by a name of its own", () => {
  assert.deepEqual(country_codes, Object.keys(metadata.countries).toSorted());
  const names = country_codes.map(countryName);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(
    names.filter((name) => country_codes.includes(name)),
    [],
  );
});
