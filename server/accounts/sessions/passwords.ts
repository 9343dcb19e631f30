// Passwords are stored as Argon2id in the PHC string format, with the parameters that OWASP recommends
// (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html).
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { openShares } from "../../lib/shares.ts";

const memory_kib = 19_456;
const passes = 2;
const parallelism = 1;
const hash_bytes = 32;

/** Each hash takes a core for some 60 ms and 19 MB: a flood of sign-ins takes one core at most, and delays its own address. */
const hashing = openShares<string>(1, 1, 50);

type Parameters = { memory: number; passes: number; parallelism: number };

async function derive(
  password: string,
  address: string | undefined,
  nonce: Buffer,
  parameters: Parameters,
): Promise<Buffer> {
  // The same letters typed on different keyboards are the same password.
  const message = password.normalize("NFKC");
  return hashing.use(addressGroup(address), () =>
    promisify(argon2)("argon2id", { message, nonce, tagLength: hash_bytes, ...parameters }),
  );
}

/** Returns the text to store. The addresses of clients alternate; 503 if too many of one address wait. */
export async function hashPassword(password: string, address: string | undefined): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive(password, address, nonce, { memory: memory_kib, passes, parallelism });
  const parameters = `m=${memory_kib},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${base64(nonce)}$${base64(tag)}`;
}

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Whether the password has this hash. Without a stored hash it takes as long and is false. Waits as hashPassword does. */
export async function isPassword(
  password: string,
  stored: string | null,
  address: string | undefined,
): Promise<boolean> {
  const match = form.exec(stored ?? no_password);
  if (!match) throw new Error("a stored password hash is not in the PHC format of Argon2id");
  const [, m, t, p, nonce, expected] = match;
  const parameters = { memory: Number(m), passes: Number(t), parallelism: Number(p) };
  const tag = await derive(password, address, Buffer.from(nonce!, "base64"), parameters);
  return timingSafeEqual(tag, Buffer.from(expected!, "base64")) && stored !== null;
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}

const no_password = `$argon2id$v=19$m=${memory_kib},t=${passes},p=${parallelism}$${base64(randomBytes(16))}$${base64(randomBytes(hash_bytes))}`;
