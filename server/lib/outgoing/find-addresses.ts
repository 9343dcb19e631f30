// Where names lead. Asked of the name servers over the network: the operating system's own look-up holds
// one of the process's four threads for as long as a name server is silent, two at a time, and with them
// everybody else's look-ups.
import { lookup, Resolver, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

const timeout_ms = 3_000;
const tries = 2;
/** The name servers know no such name, or there are none. */
const unknown_codes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "ECONNREFUSED"]);
/** No name server was heard. */
const unheard_codes: ReadonlySet<string> = new Set(["ETIMEOUT", "ECONNREFUSED"]);

/**
 * Finds names by their A and AAAA records. `isOfHouse`: of such names, those that the name servers answer
 * without an address are asked of the operating system, for /etc/hosts to count. Of no others: whoever owns
 * a public name could deny it first and be silent then. `open`: reads which name servers the machine has.
 */
export function findAddresses(
  isOfHouse: (name: string) => boolean,
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
      // The machine may have moved to others; a resolver keeps those it began with.
      if (failures.some(isOf(unheard_codes))) resolver = open();
      if (found.length > 0) return callback(null, found);
      if (isOfHouse(name) && !failures.some(({ code }) => code === "ETIMEOUT"))
        return lookup(name, { ...options, all: true }, callback as never);
      // That it has no address of one family says less than why the other could not be asked for.
      callback(failures.find((failure) => !isOf(unknown_codes)(failure)) ?? failures[0]!, []);
    };
    resolver.resolve4(name, take(4));
    resolver.resolve6(name, take(6));
  };
}

function isOf(codes: ReadonlySet<string>) {
  return ({ code }: NodeJS.ErrnoException) => codes.has(code ?? "");
}
