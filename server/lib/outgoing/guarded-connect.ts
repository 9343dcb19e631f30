// Opens connections only where the guard allows: the validated address is the one that is connected to,
// because both come from one look-up.
import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import { hostOf, portOf, type Guard } from "./guard.ts";
import { OutgoingError } from "./outgoing-http.ts";

const connect_timeout_ms = 15_000;
/** Time per address if there are several; Node's 250 ms are too short for distant hosts. */
const attempt_timeout_ms = 3_000;
/** Limit of addresses per name; a DNS response has room for thousands, each to be validated. */
const addresses_max = 16;

/** Returns a connector for one origin; its open connections are in `sockets`. */
export function guardedConnect(
  guard: Guard,
  origin: URL,
  find: LookupFunction,
  sockets: Set<Socket>,
): buildConnector.connector {
  const host = hostOf(origin);
  const port = portOf(origin);
  const connect = buildConnector({
    lookup: guardedLookup(guard, port, find),
    allowH2: false,
    rejectUnauthorized: true,
    timeout: connect_timeout_ms,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attempt_timeout_ms,
  });
  return (options, callback) => {
    // An address in the URL itself is not looked up.
    const violation = isIP(host) === 0 ? null : guard.validateAddress(host, port);
    if (violation !== null) return callback(new OutgoingError("blocked", violation), null);
    const socket = connect(options, (error, connected) => {
      if (error) return callback(error, null);
      const met = connected.remoteAddress;
      const met_violation = met === undefined ? null : guard.validateAddress(met, port, host);
      if (met_violation === null) return callback(null, connected);
      connected.destroy();
      callback(new OutgoingError("blocked", met_violation), null);
    }) as unknown as Socket;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
}

/** Returns the allowed ones of a name's first addresses; fails as blocked if there are none. */
function guardedLookup(guard: Guard, port: number, find: LookupFunction): LookupFunction {
  return (name, options, callback) => {
    find(name, { ...options, all: true }, (error, found) => {
      const local = guard.validateName(name);
      if (error) {
        const hidden = local === null ? error : new OutgoingError("blocked", local);
        return callback(hidden, options.all ? [] : "", 0);
      }
      const addresses = (found as LookupAddress[]).slice(0, addresses_max);
      const violations = addresses.map(({ address }) => guard.validateAddress(address, port, name));
      const allowed = addresses.filter((_, i) => violations[i] === null);
      const [first] = allowed;
      if (first === undefined) {
        const violation = local ?? violations[0] ?? `${name} resolves to no address`;
        return callback(new OutgoingError("blocked", violation), options.all ? [] : "", 0);
      }
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
