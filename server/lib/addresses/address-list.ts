import { BlockList, isIP } from "node:net";

const bits = { 4: 32, 6: 128 } as const;

/** Why `text` is neither an IP address nor a network in CIDR notation; null if it is one. */
export function validateNetwork(text: string): string | null {
  const [address = "", prefix, ...more] = text.split("/");
  const version = isIP(address) as 0 | 4 | 6;
  const isPrefix =
    prefix === undefined || (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= 128);
  if (version === 0 || !isPrefix || more.length > 0 || address.includes("%"))
    return "must be an IP address or a network such as 203.0.113.0/24";
  return Number(prefix ?? 0) > bits[version] ? `must have at most /${bits[version]}` : null;
}

/** Returns whether an address is in one of the valid networks; an IPv4 address also in its IPv6 form. */
export function openAddressList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split("/");
    const version = isIP(address!) as 4 | 6;
    list.addSubnet(address!, Number(prefix ?? bits[version]), `ipv${version}`);
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
  };
}
