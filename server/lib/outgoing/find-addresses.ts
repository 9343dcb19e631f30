// Resolves names by asking the name servers directly: the operating system's own look-up occupies one of the
// process's four threads, two at a time, while a name server does not respond, and delays all other look-ups.
import { lookup, Resolver, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

const timeout_ms = 3_000;
const tries = 2;
/** The name servers do not know the name, or there are none. */
const unknown_codes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "ECONNREFUSED"]);
/** No name server responded. */
const no_response_codes: ReadonlySet<string> = new Set(["ETIMEOUT", "ECONNREFUSED"]);

/**
 * Resolves names by their A and AAAA records. `isLocal`: such names, if the name servers do not have an address,
 * are also asked of the operating system, so that /etc/hosts counts. Not other names: the owner of a public name
 * could deny it first and then not respond. `open`: reads which name servers the machine has.
 */
export function findAddresses(
  isLocal: (name: string) => boolean,
  open: () => Resolver = () => new Resolver({ timeout: timeout_ms, tries }),
): LookupFunction {
  let resolver = open();
  return (name, options, callback) => {
    const found: LookupAddress[] = [];
    const failures: NodeJS.ErrnoException[] = [];
    let waiting = 2;
    const take = (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses: string[]) => {
      if (error) failures.push(error);
      else found.push(...addresses.map((address) => ({ address, family })));
      if (--waiting > 0) return;
      // The machine's name servers may have changed; a resolver keeps its original ones.
      if (failures.some(isOf(no_response_codes))) resolver = open();
      if (found.length > 0) return callback(null, found);
      if (isLocal(name) && !failures.some(({ code }) => code === "ETIMEOUT"))
        return lookup(name, { ...options, all: true }, callback as never);
      // A missing address of one family says less than why the other look-up failed.
      callback(failures.find((failure) => !isOf(unknown_codes)(failure)) ?? failures[0]!, []);
    };
    resolver.resolve4(name, take(4));
    resolver.resolve6(name, take(6));
  };
}

function isOf(codes: ReadonlySet<string>) {
  return ({ code }: NodeJS.ErrnoException) => codes.has(code ?? "");
}
