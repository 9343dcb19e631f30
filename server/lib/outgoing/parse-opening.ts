import { BlockList, isIP, type IPVersion } from "node:net";

/** An address or network that the operator allows in addition to the public internet. */
export type Opening = {
  readonly family: IPVersion;
  readonly addresses: BlockList;
  /** Null: every port. */
  readonly port: number | null;
};

const forms = [
  /^\[(?<address>[0-9a-f:.]+)(?:\/(?<bits>\d{1,3}))?\](?::(?<port>\d{1,5}))?$/i,
  /^(?<address>[0-9.]+)(?:\/(?<bits>\d{1,2}))?(?::(?<port>\d{1,5}))?$/,
  /^(?<address>[0-9a-f:.]+)(?:\/(?<bits>\d{1,3}))?$/i,
];

/**
 * Parses an address or a network, with or without a port: `127.0.0.1`, `10.1.0.0/16:9000`, `::1`,
 * `[fd00::/8]:9000`. Returns null for other text.
 */
export function parseOpening(text: string): Opening | null {
  const groups = forms.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return null;
  const address = groups["address"] ?? "";
  const version = isIP(address);
  // Brackets mark IPv6; without them, a colon in IPv6 does not start a port.
  if (version === 0 || (version === 4 && text.startsWith("["))) return null;
  const bits_max = version === 4 ? 32 : 128;
  const bits = Number(groups["bits"] ?? bits_max);
  const port = groups["port"] === undefined ? null : Number(groups["port"]);
  if (bits > bits_max || port === 0 || (port ?? 0) > 65_535) return null;
  const family = version === 4 ? "ipv4" : "ipv6";
  const addresses = new BlockList();
  addresses.addSubnet(address, bits, family);
  return { family, addresses, port };
}

/** Why `text` is not an opening; null if it is one. */
export function validateOpening(text: string): string | null {
  if (parseOpening(text) !== null) return null;
  return "must be an address or a network, with or without a port (127.0.0.1, 10.1.0.0/16, [::1]:9000)";
}
