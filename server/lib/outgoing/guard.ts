// Where requests to users' URLs may go: public addresses on web ports, and what the operator allows in
// addition.
import { isIP } from "node:net";
import { parseOpening, type Opening } from "./parse-opening.ts";
import { specialKind } from "./special-addresses.ts";

const web_ports: ReadonlySet<number> = new Set([80, 443, 8080, 8443]);
const remedy = "the operator can open it with CALLBACK_ALLOW";

/** Last labels that public DNS never uses: RFC 6761, RFC 6762 (appendix G), ICANN's .internal, Kubernetes. */
const local_labels: ReadonlySet<string> = new Set([
  "localhost",
  "local",
  "internal",
  "intranet",
  "private",
  "corp",
  "home",
  "lan",
  "svc",
]);

export type Guard = {
  /** Returns what is wrong with the URL, without looking its name up, or null. */
  validateUrl(url: string): string | null;
  /** Returns why connecting to this address and port is not allowed, or null; `name` resolves to it. */
  validateAddress(address: string, port: number, name?: string): string | null;
  /** Returns the violation for a name that may be internal, whatever its look-up returned; else null. */
  validateName(name: string): string | null;
};

/** Opens a guard. `allowed`: addresses and networks as parseOpening reads them; throws on other text. */
export function openGuard(allowed: readonly string[]): Guard {
  const openings = allowed.map((text): Opening => {
    const opening = parseOpening(text);
    if (opening === null) throw new Error(`"${text}" is neither an address nor a network`);
    return opening;
  });
  const validateAddress: Guard["validateAddress"] = (given, port, name) => {
    // The zone of a link-local address does not say where it is.
    const address = given.replace(/%.*$/, "");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    const isOpened = openings.some(
      (opening) =>
        opening.family === family &&
        (opening.port === null || opening.port === port) &&
        opening.addresses.check(address, family),
    );
    if (isOpened) return null;
    const kind = specialKind(address);
    if (kind === null) return web_ports.has(port) ? null : closedPort(port);
    return name === undefined
      ? `${address} is ${kind}; ${remedy}`
      : // Without the address: the name may have another one in the operator's network.
        `${name} resolves to ${kind}; ${remedy}`;
  };
  return {
    validateAddress,
    validateName,
    validateUrl(text) {
      const url = readUrl(text);
      if (typeof url === "string") return url;
      const port = portOf(url);
      const host = hostOf(url);
      if (isIP(host) !== 0) return validateAddress(host, port);
      const mayBeOpen = openings.some((opening) => opening.port === null || opening.port === port);
      if (mayBeOpen) return null;
      return validateName(host) ?? (web_ports.has(port) ? null : closedPort(port));
    },
  };
}

/** Returns the port that a request to the URL connects to. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** Returns the host for a connection: an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function readUrl(text: string): URL | string {
  if (!URL.canParse(text)) return "this is not a valid URL";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return "the URL must begin with http:// or https://";
  if (url.username !== "" || url.password !== "")
    return "the URL must not contain a user name or password";
  return url;
}

function closedPort(port: number): string {
  return `port ${port} is not allowed for callbacks (80, 443, 8080 and 8443 are); ${remedy}`;
}

function validateName(name: string): string | null {
  const labels = name.toLowerCase().replace(/\.$/, "").split(".");
  const last = labels.at(-1) ?? "";
  const isLocal =
    labels.length === 1 || local_labels.has(last) || labels.slice(-2).join(".") === "home.arpa";
  return isLocal
    ? `${name} is a name of this machine or its network; ${remedy}, by its address`
    : null;
}
