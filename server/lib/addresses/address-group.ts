import ipaddr from "ipaddr.js";

/** Returns what one client has at its disposal: an IPv4 address, or the /64 of an IPv6 address. */
export function addressGroup(address: string | undefined): string {
  if (!address || !ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":");
}
