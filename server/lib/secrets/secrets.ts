// Seals the secrets that are stored in the database: AES-256-GCM with a key that is not in the database. Keys and
// values are random, and a nonce of 96 bits is drawn for each sealing (NIST SP 800-38D, 8.2.2).
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** A stored value: a column of a row. `account_id` is 0 for a row of the installation. */
export type SecretPlace = {
  /** `table.column`. */
  readonly column: string;
  readonly account_id: number;
  readonly id: number;
};

export type Secrets = {
  /** Returns the sealed form, as text. It opens only at the same place. */
  seal(place: SecretPlace, plain: Buffer | string): string;
  /**
   * Returns the plain value of a stored one. A value that was stored before sealing existed is returned as it is.
   * Throws SecretError if no key opens the value, or if it was changed or belongs to another place.
   */
  open(place: SecretPlace, stored: Buffer | string): Buffer;
  /** The ID of the key that seals. */
  currentKey(): string;
  /** Returns whether the key with this ID is present. */
  hasKey(id: string): boolean;
};

export class SecretError extends Error {
  override readonly name = "SecretError";
}

/** Begins a sealed value; the key's ID and `:` follow. */
export const sealed_prefix = "sealed:v1:";
export const key_bytes = 32;
const nonce_bytes = 12;
const tag_bytes = 16;
const opened_max = 10_000;

/** Returns the ID of a key, by which a sealed value names it without disclosing it. */
function keyId(key: Buffer): string {
  return createHash("sha256").update("trunkline key id").update(key).digest("hex").slice(0, 16);
}

/**
 * Opens the keys that `readKeys` returns: the first seals, and all of them open. `readKeys` is called for each
 * sealing and when a value names an unknown key, so that a rotation reaches a running process. Opened values are
 * kept in memory, because each delivery of a callback needs one.
 */
export function openSecrets(readKeys: () => readonly Buffer[]): Secrets {
  let keys = new Map<string, Buffer>();
  const opened = new Map<string, Buffer>();
  const read = () => {
    keys = new Map(readKeys().map((key) => [keyId(key), key]));
    return keys;
  };
  const keyOf = (id: string) => keys.get(id) ?? read().get(id);
  read();
  return {
    seal(place, plain) {
      const [current] = read();
      const [id, key] = current!;
      const nonce = randomBytes(nonce_bytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aadOf(place));
      const sealed = [nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()];
      return `${sealed_prefix}${id}:${Buffer.concat(sealed).toString("base64url")}`;
    },
    open(place, stored) {
      const text = typeof stored === "string" ? stored : stored.toString("latin1");
      if (!text.startsWith(sealed_prefix)) return Buffer.from(stored);
      const memo = `${describe(place)} ${text}`;
      const known = opened.get(memo);
      if (known) return known;
      const plain = unseal(place, text, keyOf);
      if (opened.size >= opened_max) opened.delete(opened.keys().next().value!);
      opened.set(memo, plain);
      return plain;
    },
    currentKey: () => read().keys().next().value!,
    hasKey: (id) => keyOf(id) !== undefined,
  };
}

function unseal(
  place: SecretPlace,
  text: string,
  keyOf: (id: string) => Buffer | undefined,
): Buffer {
  const [id = "", body = ""] = text.slice(sealed_prefix.length).split(":");
  const key = keyOf(id);
  if (!key) {
    throw new SecretError(
      `${describe(place)} is sealed with the key ${id}, which is not among the keys of this process`,
    );
  }
  const bytes = Buffer.from(body, "base64url");
  const end = bytes.length - tag_bytes;
  try {
    const nonce = bytes.subarray(0, nonce_bytes);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tag_bytes });
    decipher.setAAD(aadOf(place)).setAuthTag(bytes.subarray(end));
    return Buffer.concat([decipher.update(bytes.subarray(nonce_bytes, end)), decipher.final()]);
  } catch (error) {
    throw new SecretError(`${describe(place)} was changed, or belongs to another row or column`, {
      cause: error,
    });
  }
}

function aadOf({ column, account_id, id }: SecretPlace): Buffer {
  return Buffer.from(`${column}/${account_id}/${id}`);
}

function describe({ column, account_id, id }: SecretPlace): string {
  return `${column} of ID ${id}${account_id === 0 ? "" : `, account ${account_id},`}`;
}
