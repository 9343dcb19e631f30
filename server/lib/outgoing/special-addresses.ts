// Which addresses are somebody's on the public internet, by IANA's registries of special-purpose
// addresses for IPv4 and IPv6.
import { BlockList, type IPVersion } from "node:net";

type Blocks = readonly (readonly [kind: string, ...networks: string[]])[];

/** Every block of the registry, globally reachable or not, and what is not unicast. */
const ipv4: Blocks = [
  ["an unspecified address", "0.0.0.0/8"],
  ["a loopback address", "127.0.0.0/8"],
  ["a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  ["a carrier's shared address", "100.64.0.0/10"],
  ["a link-local address", "169.254.0.0/16"],
  ["a documentation address", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
  ["a benchmarking address", "198.18.0.0/15"],
  ["a multicast address", "224.0.0.0/4"],
  ["a broadcast address", "255.255.255.255/32"],
  // Public by the registry; on Azure the host's own service answers there.
  ["a platform's own address", "168.63.129.16/32"],
  [
    "a reserved address",
    "192.0.0.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.175.48.0/24",
    "240.0.0.0/4",
  ],
];

const ipv6: Blocks = [
  ["an unspecified address", "::/128"],
  ["a loopback address", "::1/128"],
  ["an IPv4 address in the form of IPv6", "::/96", "::ffff:0:0/96"],
  ["a translated IPv4 address", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"],
  ["a private address", "fc00::/7", "fec0::/10"],
  ["a link-local address", "fe80::/10"],
  ["a multicast address", "ff00::/8"],
  ["a documentation address", "2001:db8::/32", "3fff::/20"],
  ["a reserved address", "2001::/23", "2620:4f:8000::/48"],
];

// One list per family: in a shared one, IPv4-mapped addresses match the rules of both.
const kinds = { ipv4: listed(ipv4, "ipv4"), ipv6: listed(ipv6, "ipv6") };
const globalUnicast = listOf(["2000::/3"], "ipv6");

/** What an address is that is no global unicast one ("a loopback address"), or null. */
export function specialKind(address: string, family: IPVersion): string | null {
  const found = kinds[family].find(({ list }) => list.check(address, family));
  if (found) return found.kind;
  if (family === "ipv4" || globalUnicast.check(address, family)) return null;
  return "a reserved address";
}

function listed(blocks: Blocks, family: IPVersion) {
  return blocks.map(([kind, ...networks]) => ({ kind, list: listOf(networks, family) }));
}

function listOf(networks: readonly string[], family: IPVersion): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [first = "", bits] = network.split("/");
    list.addSubnet(first, Number(bits), family);
  }
  return list;
}
