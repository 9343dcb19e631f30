import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openGuard } from "./guard.ts";

// The blocks stand here a second time, by hand and as numbers, so that a slip in the code's own list shows.
const special_ipv4 = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
  "168.63.129.16/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24",
  "198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
]
  .join(" ")
  .split(" ")
  .map((block) => {
    const [first = "", bits] = block.split("/");
    const value = first.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    return { block, value, free_bits: 32n - BigInt(bits!) };
  });

/** Within 2000::/3: the first four groups and how many bits of them count. */
const special_ipv6 = [
  { block: "2001::/23", value: 0x2001_0000_0000_0000n, bits: 23n },
  { block: "2001:db8::/32", value: 0x2001_0db8_0000_0000n, bits: 32n },
  { block: "2002::/16", value: 0x2002_0000_0000_0000n, bits: 16n },
  { block: "2620:4f:8000::/48", value: 0x2620_004f_8000_0000n, bits: 48n },
  { block: "3fff::/20", value: 0x3fff_0000_0000_0000n, bits: 20n },
].map(({ block, value, bits }) => ({ block, value: value << 64n, free_bits: 128n - bits }));

const isIn = (address: bigint, { value, free_bits }: { value: bigint; free_bits: bigint }) =>
  address >> free_bits === value >> free_bits;
const isSpecialIpv4 = (address: bigint) => special_ipv4.some((block) => isIn(address, block));
const isSpecialIpv6 = (address: bigint) =>
  address >> 125n !== 1n || special_ipv6.some((block) => isIn(address, block));

const dotted = (address: bigint) =>
  [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join(".");
const colons = (address: bigint) =>
  Array.from({ length: 8 }, (_, i) => (address >> BigInt(112 - 16 * i)) & 0xffffn)
    .map((group) => group.toString(16))
    .join(":");

const guard = openGuard([]);
/** As a look-up's answer, and in a URL, which spells an address in its own way. */
const isOpen = (address: string) => {
  const inUrl = address.includes(":") ? `[${address}]` : address;
  const answers = [
    guard.validateAddress(address, 443),
    guard.validateAddress(address, 80, "hooks.example.com"),
    guard.validateUrl(`https://${inUrl}/hook`),
  ];
  assert.equal(new Set(answers.map((answer) => answer === null)).size, 1, answers.join("\n"));
  return answers[0] === null;
};
const bits = (count: bigint) => fc.bigInt({ min: 0n, max: (1n << count) - 1n });

test("no address of a special block is open, in either family", () => {
  const inBlock = (blocks: typeof special_ipv4, format: (address: bigint) => string) =>
    fc
      .constantFrom(...blocks)
      .chain(({ value, free_bits }) => bits(free_bits).map((low) => format(value + low)));
  const outside = bits(128n).filter((address) => address >> 125n !== 1n);
  fc.assert(
    fc.property(
      fc.oneof(inBlock(special_ipv4, dotted), inBlock(special_ipv6, colons), outside.map(colons)),
      (address) => !isOpen(address),
    ),
    { numRuns: 1_000 },
  );
  // The two ends of each block, which random addresses seldom hit.
  for (const { value, free_bits } of special_ipv4)
    for (const end of [value, value + (1n << free_bits) - 1n]) assert.ok(!isOpen(dotted(end)));
  for (const { value, free_bits } of special_ipv6)
    for (const end of [value, value + (1n << free_bits) - 1n]) assert.ok(!isOpen(colons(end)));
});

test("the first and the last address of each special block are refused by what they are", () => {
  for (const [kind, ...ends] of [
    ["an unspecified address", "0.0.0.0", "0.255.255.255"],
    ["an unspecified address", "::", "::"],
    ["a loopback address", "127.0.0.0", "127.255.255.255"],
    ["a loopback address", "::1", "::1"],
    ["a private address", "10.0.0.0", "10.255.255.255"],
    ["a private address", "172.16.0.0", "172.31.255.255"],
    ["a private address", "192.168.0.0", "192.168.255.255"],
    ["a private address", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a private address", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a carrier's shared address", "100.64.0.0", "100.127.255.255"],
    ["a link-local address", "169.254.0.0", "169.254.255.255"],
    ["a link-local address", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a documentation address", "192.0.2.0", "192.0.2.255"],
    ["a documentation address", "198.51.100.0", "198.51.100.255"],
    ["a documentation address", "203.0.113.0", "203.0.113.255"],
    ["a documentation address", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a documentation address", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a benchmarking address", "198.18.0.0", "198.19.255.255"],
    ["a multicast address", "224.0.0.0", "239.255.255.255"],
    ["a multicast address", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a broadcast address", "255.255.255.255", "255.255.255.255"],
    ["a platform's own address", "168.63.129.16", "168.63.129.16"],
    ["an IPv4 address in the form of IPv6", "::2", "::ffff:ffff"],
    ["an IPv4 address in the form of IPv6", "::ffff:0:0", "::ffff:ffff:ffff"],
    ["a translated IPv4 address", "64:ff9b::", "64:ff9b::ffff:ffff"],
    ["a translated IPv4 address", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
    ["a translated IPv4 address", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a translated IPv4 address", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a reserved address", "192.0.0.0", "192.0.0.255"],
    ["a reserved address", "192.31.196.0", "192.31.196.255"],
    ["a reserved address", "192.52.193.0", "192.52.193.255"],
    ["a reserved address", "192.88.99.0", "192.88.99.255"],
    ["a reserved address", "192.175.48.0", "192.175.48.255"],
    ["a reserved address", "240.0.0.0", "255.255.255.254"],
    ["a reserved address", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ["a reserved address", "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"],
    ["a reserved address", "100::", "100::ffff:ffff:ffff:ffff"],
    ["a reserved address", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
    ["a reserved address", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ] as const)
    for (const end of ends)
      assert.match(guard.validateAddress(end, 443) ?? "open", new RegExp(` is ${kind};`), end);
});

test("every other address is open: what is public, and the neighbours of each special block", () => {
  const ipv6 = bits(125n).map((low) => (1n << 125n) + low);
  fc.assert(
    fc.property(
      fc.oneof(
        bits(32n)
          .filter((address) => !isSpecialIpv4(address))
          .map(dotted),
        ipv6.filter((address) => !isSpecialIpv6(address)).map(colons),
      ),
      isOpen,
    ),
    { numRuns: 1_000 },
  );
  for (const { value, free_bits } of special_ipv4)
    for (const next of [value - 1n, value + (1n << free_bits)])
      if (next >= 0n && next < 1n << 32n)
        assert.equal(isOpen(dotted(next)), !isSpecialIpv4(next), dotted(next));
  for (const { value, free_bits } of special_ipv6)
    for (const next of [value - 1n, value + (1n << free_bits)])
      assert.equal(isOpen(colons(next)), !isSpecialIpv6(next), colons(next));
});

test("an IPv4 address stays closed in each form of IPv6 that carries one", () => {
  const carriers = [0n, 0xffffn << 32n, 0xffffn << 48n, 0x64ff9bn << 96n, 0x64ff9b0001n << 80n];
  const carried = fc
    .constantFrom(...carriers)
    .chain((prefix) => bits(32n).map((low) => colons(prefix + low)));
  const sixToFour = bits(32n).map((low) => colons((0x2002n << 112n) + (low << 80n)));
  fc.assert(fc.property(fc.oneof(carried, sixToFour), (address) => !isOpen(address)));
});

test("what the operator opens is open at its ports, and nothing beside it", () => {
  const opened = openGuard(["127.0.0.8/30", "10.0.0.1:9000", "[fd00::/64]:9000", "::1", "8.8.8.8"]);
  const open = [
    "127.0.0.8 22",
    "127.0.0.11 65535",
    "10.0.0.1 9000",
    "fd00::ffff 9000",
    "::1 1",
    "8.8.8.8 25",
    "8.8.4.4 8443",
  ];
  const closed = [
    "127.0.0.7 80",
    "127.0.0.12 80",
    "10.0.0.1 443",
    "10.0.0.2 9000",
    "fd00::1 80",
    "fd00:0:0:1:: 9000",
    "::2 80",
    "8.8.4.4 25",
    "::ffff:127.0.0.8 80",
    "::127.0.0.8 80",
  ];
  const isClosed = (pair: string) => {
    const [address = "", port] = pair.split(" ");
    return opened.validateAddress(address, Number(port)) !== null;
  };
  assert.deepEqual([...open, ...closed].filter(isClosed), closed);
  assert.throws(() => openGuard(["localhost"]), /"localhost"/);
});

test("a URL is validated without looking its name up", () => {
  const none = openGuard([]);
  const some = openGuard(["127.0.0.1:9000"]);
  for (const url of ["https://hooks.example.com/a?b#c", "http://8.8.8.8:8080", "HTTPS://a.example"])
    assert.equal(none.validateUrl(url), null);
  assert.match(
    none.validateUrl("http://hooks.example.com:9000/") ?? "",
    /^port 9000 .*CALLBACK_ALLOW/,
  );
  assert.match(some.validateUrl("http://hooks.example.com:9001/") ?? "", /^port 9001 /);
  for (const name of ["printer.home.arpa", "HOME.ARPA.", "a.internal", "postgres"])
    assert.match(none.validateUrl(`http://${name}/`) ?? "", /name of this machine or its network/);
  for (const name of ["a.home.arpa.example.com", "internal.example.com"])
    assert.equal(none.validateUrl(`http://${name}/`), null);
  // Where the name leads decides: it may be to what is open at this port.
  assert.equal(some.validateUrl("http://localhost:9000/"), null);
});
