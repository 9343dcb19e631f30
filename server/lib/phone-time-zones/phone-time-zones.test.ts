import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isTimeZone } from "../parse-time.ts";
import { phoneTimeZones, splitTimeZones } from "./phone-time-zones.ts";

const zonesOf = (phone: string) => splitTimeZones(phoneTimeZones(phone));

test("a number in a country or area of one time zone has that zone", () => {
  assert.deepEqual(zonesOf("919876543210"), ["Asia/Calcutta"]);
  assert.deepEqual(zonesOf("14155550123"), ["America/Los_Angeles"]);
  assert.deepEqual(zonesOf("61298765432"), ["Australia/Sydney"]);
  assert.deepEqual(zonesOf("74232123456"), ["Asia/Vladivostok"]);
});

test("an area that spans several time zones has all of them", () => {
  assert.deepEqual(zonesOf("12085550123"), ["America/Boise", "America/Los_Angeles"]);
  assert.deepEqual(zonesOf("61892345678"), ["Australia/Adelaide", "Australia/Perth"]);
});

test("a mobile number that names no area has all time zones of its country", () => {
  const [australia, russia] = [zonesOf("61412345678"), zonesOf("79161234567")];
  for (const zone of ["Australia/Perth", "Australia/Sydney"]) assert.ok(australia.includes(zone));
  for (const zone of ["Europe/Moscow", "Asia/Vladivostok"]) assert.ok(russia.includes(zone));
  assert.deepEqual(zonesOf("34612345678"), ["Atlantic/Canary", "Europe/Madrid"]);
});

test("a mobile number in Brazil or Mexico has the time zone of its area code, in every spelling", () => {
  assert.deepEqual(zonesOf("5592987654321"), ["America/Manaus"]);
  assert.deepEqual(zonesOf("559287654321"), ["America/Manaus"]);
  assert.deepEqual(zonesOf("526641234567"), ["America/Tijuana"]);
  assert.deepEqual(zonesOf("5216641234567"), ["America/Tijuana"]);
});

test("a toll-free number has all time zones of its numbering plan, and a satellite phone has none", () => {
  const toll_free = zonesOf("18005550123");
  for (const zone of ["America/New_York", "America/Los_Angeles", "Pacific/Honolulu"])
    assert.ok(toll_free.includes(zone));
  assert.deepEqual(zonesOf("8821234567"), []);
  assert.deepEqual(zonesOf("0"), []);
  assert.deepEqual(zonesOf(""), []);
});

test("knows every time zone of the metadata", () => {
  const text = readFileSync(new URL("phone-time-zones.txt", import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  assert.ok(lines.length > 300);
  for (const line of lines)
    for (const zone of splitTimeZones(line.split(" ")[0]!)) assert.ok(isTimeZone(zone), zone);
});
