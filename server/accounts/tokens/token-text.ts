import { hash, randomBytes } from "node:crypto";

/** The parts of `trk_<account>_<key id>_<secret>`. */
export type TokenParts = {
  readonly account_id: number;
  readonly token_id: number;
  readonly secret: string;
};

const form = /^trk_([1-9][0-9]{0,15})_([1-9][0-9]{0,15})_([0-9a-f]{64})$/;

/** Returns a new secret of 256 bits. */
export function newSecret(): string {
  return randomBytes(32).toString("hex");
}

/** Returns the stored hash of a secret. One fast hash suffices because the secret has the entropy of a key. */
export function hashSecret(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

/**
 * Formats a token. It contains the account, like every external key, so that each look-up goes to one
 * shard.
 */
export function writeToken(parts: TokenParts): string {
  return `trk_${parts.account_id}_${parts.token_id}_${parts.secret}`;
}

/** Parses a token; null if the text does not have its form. */
export function readToken(text: string): TokenParts | null {
  const match = form.exec(text);
  if (!match) return null;
  const [, account, token, secret] = match;
  return { account_id: Number(account), token_id: Number(token), secret: secret! };
}
