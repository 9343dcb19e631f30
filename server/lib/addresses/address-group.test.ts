import assert from "node:assert/strict";
import { test } from "node:test";
import { addressGroup } from "./address-group.ts";

test("an IPv6 client's whole /64 is one group, and a mapped IPv4 address is that address", () => {
  assert.equal(addressGroup("203.0.113.7"), "203.0.113.7");
  assert.equal(addressGroup("::ffff:203.0.113.7"), "203.0.113.7");
  assert.equal(addressGroup("2001:db8:0:1::7"), addressGroup("2001:db8:0:1:ffff::"));
  assert.notEqual(addressGroup("2001:db8:0:1::7"), addressGroup("2001:db8:0:2::7"));
  assert.equal(addressGroup(undefined), "unknown");
});
