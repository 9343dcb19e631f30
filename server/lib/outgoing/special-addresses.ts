// Recognizes addresses outside the public internet, by IANA's registries of special-purpose addresses for
// IPv4 and IPv6.
import ipaddr from "ipaddr.js";

const reserved = "a reserved address";

/** ipaddr.js's range names; any other than `unicast` is reserved. */
const kinds: Readonly<Record<string, string>> = {
  unspecified: "an unspecified address",
  loopback: "a loopback address",
  private: "a private address",
  uniqueLocal: "a private address",
  deprecatedSiteLocal: "a private address",
  carrierGradeNat: "a carrier's shared address",
  linkLocal: "a link-local address",
  multicast: "a multicast address",
  broadcast: "a broadcast address",
  ipv4Mapped: "an IPv4 address in the form of IPv6",
  rfc6052: "a translated IPv4 address",
  "6to4": "a translated IPv4 address",
  teredo: "a translated IPv4 address",
};

/** Ranges that ipaddr.js calls reserved or does not know. */
const named = {
  "a documentation address": networks(
    "192.0.2.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "2001:db8::/32",
    "3fff::/20",
  ),
  "a benchmarking address": networks("198.18.0.0/15"),
  // Public by the registry; on Azure the host's own service responds there.
  "a platform's own address": networks("168.63.129.16/32"),
};

/** Ranges that ipaddr.js treats as unicast, in whole or in part. */
const unlisted = {
  "an IPv4 address in the form of IPv6": networks("::/96"),
  [reserved]: networks("2001::/23"),
};
const public_unicast = { yes: networks("0.0.0.0/0", "2000::/3") };

/** Returns what kind of special address this is ("a loopback address"), or null for global unicast. */
export function specialKind(text: string): string | null {
  if (!ipaddr.isValid(text)) return reserved;
  const address = ipaddr.parse(text);
  const kind = ipaddr.subnetMatch(address, named, "");
  if (kind !== "") return kind;
  const range = address.range();
  if (range !== "unicast") return kinds[range] ?? reserved;
  const found = ipaddr.subnetMatch(address, unlisted, "");
  if (found !== "") return found;
  return ipaddr.subnetMatch(address, public_unicast, "") === "yes" ? null : reserved;
}

function networks(...texts: readonly string[]) {
  return texts.map((text) => ipaddr.parseCIDR(text));
}
