// Where names lead. Asked of the name servers over the network: the operating system's own look-up holds
// one of the process's four threads for as long as a name server is silent, two at a time, and with them
// everybody else's look-ups.
import { lookup, Resolver, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

const timeout_ms = 3_000;
const tries = 2;
/** The name servers know no such name, or there are none. */
const unknown_codes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "ECONNREFUSED"]);

/**
 * Finds names by their A and AAAA records. `isOfHouse`: of such names, those that DNS does not have are
 * asked of the operating system, for /etc/hosts to count. Of no others: whoever owns a public name could
 * deny it first and be silent then.
 */
export function findAddresses(
  isOfHouse: (name: string) => boolean,
  resolver: Resolver = new Resolver({ timeout: timeout_ms, tries }),
): LookupFunction {
  return (name, options, callback) => {
    const found: LookupAddress[] = [];
    const failures: NodeJS.ErrnoException[] = [];
    let open = 2;
    const take = (family: 4 | 6) => (error: NodeJS.ErrnoException | null, addresses: string[]) => {
      if (error) failures.push(error);
      else found.push(...addresses.map((address) => ({ address, family })));
      if (--open > 0) return;
      if (found.length > 0) return callback(null, found);
      // That it has no address of one family says less than why the other could not be asked for.
      const [failure] = failures.toSorted((a, b) => Number(isUnknown(a)) - Number(isUnknown(b)));
      if (isUnknown(failure!) && isOfHouse(name))
        return lookup(name, { ...options, all: true }, callback as never);
      callback(failure!, []);
    };
    resolver.resolve4(name, take(4));
    resolver.resolve6(name, take(6));
  };
}

function isUnknown({ code }: NodeJS.ErrnoException): boolean {
  return unknown_codes.has(code ?? "");
}
