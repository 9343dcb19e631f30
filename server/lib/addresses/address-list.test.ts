import assert from "node:assert/strict";
import { test } from "node:test";
import { openAddressList, validateNetwork } from "./address-list.ts";

test("an address is in a list if one of its networks contains it, in either family and form", () => {
  const isIn = openAddressList(["203.0.113.0/24", "198.51.100.7", "2001:db8::/32", "::1"]);
  for (const address of ["203.0.113.0", "203.0.113.255", "198.51.100.7", "2001:db8:ffff::1", "::1"])
    assert.equal(isIn(address), true, address);
  assert.equal(isIn("::ffff:203.0.113.9"), true, "an IPv4 client of an IPv6 socket");
  for (const address of ["203.0.114.0", "198.51.100.8", "2001:db9::1", "::2", "", "unknown"])
    assert.equal(isIn(address), false, address);
  assert.equal(openAddressList(["0.0.0.0/0"])("2001:db8::1"), false);
  assert.equal(openAddressList(["::/0"])("2001:db8::1"), true);
});

test("anything but an address or a network in CIDR notation is refused with the reason", () => {
  for (const text of ["10.0.0.0/8", "::/0", "10.1.2.3", "2001:db8::/128", "0.0.0.0/0"])
    assert.equal(validateNetwork(text), null, text);
  for (const text of [
    "",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/",
    "10.0.0/8",
    "10.0.0.0/8/8",
    "a.example",
    "fe80::1%eth0",
    "10.0.0.1/-1",
    "10.0.0.1/08",
  ])
    assert.match(validateNetwork(text)!, /^must /, text);
});
