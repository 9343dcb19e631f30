// The keys that seal stored secrets: 32 bytes each, in base64, separated by commas or white space. The first seals.
import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { key_bytes } from "./secrets.ts";

/** Where a process finds its keys: in its environment, or in a file, which it reads again when needed. */
export type SecretKeySource = { readonly keys: readonly Buffer[] } | { readonly file: string };

/** Parses keys; returns null if there is none or one is not 32 bytes in base64. */
export function parseSecretKeys(text: string): Buffer[] | null {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const keys = words.map((word) => Buffer.from(word, "base64"));
  const isValid = keys.every(
    (key, i) =>
      key.length === key_bytes &&
      key.toString("base64").replace(/=+$/, "") === words[i]!.replace(/=+$/, ""),
  );
  return keys.length > 0 && isValid ? keys : null;
}

/** Returns a new key as text. */
export function newSecretKey(): string {
  return randomBytes(key_bytes).toString("base64");
}

/** Returns the function that reads the keys; it throws an Error that names the file if that is invalid. */
export function keyReader(source: SecretKeySource): () => readonly Buffer[] {
  if ("keys" in source) return () => source.keys;
  return () => {
    const keys = parseSecretKeys(readFileSync(source.file, "utf8"));
    if (keys) return keys;
    throw new Error(`${source.file} must contain keys of 32 bytes in base64, one a line`);
  };
}

/** The name of the key file in the data folder of an embedded database. */
export const key_file = "secret-key";

/**
 * Returns the key file of a data folder; creates it, readable by this user only, if it does not exist. Safe when
 * several processes do so at once.
 */
function ensureKeyFile(data_dir: string): string {
  mkdirSync(data_dir, { recursive: true });
  const file = join(data_dir, key_file);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${newSecretKey()}\n`, { mode: 0o600, flush: true });
  try {
    // Fails if the file exists, and never writes half of one.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  chmodSync(file, 0o600);
  return file;
}

/** Returns where the keys are: as configured, or in the data folder, where a missing key is created. */
export function secretKeySource(config: {
  readonly secret_keys: SecretKeySource | null;
  readonly data_dir: string;
}): SecretKeySource {
  return config.secret_keys ?? { file: ensureKeyFile(config.data_dir) };
}
