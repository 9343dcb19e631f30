// A token is shown once, in the response to its creation; only the hash of its secret is stored.
import type { Tx } from "../../lib/database/database.ts";
import type { Permission } from "../permissions.ts";
import { hashSecret, newSecret, writeToken } from "./token-text.ts";

export type NewToken = {
  readonly account_id: number;
  readonly kind: "account" | "agent" | "session";
  /** The user it authenticates as: the owner for kind account. */
  readonly user_id: number;
  readonly name: string;
  /** Null: all permissions of its user. */
  readonly scopes: readonly Permission[] | null;
  readonly expires_at: Date | null;
  /** The networks that it may be used from; absent or null: any. */
  readonly allowed_addresses?: readonly string[] | null;
  readonly created_by: number;
  /** The client of a session. */
  readonly address?: string;
  readonly user_agent?: string | null;
};

/** Stores a token and returns its text, which cannot be read again. */
export async function createToken(
  tx: Tx,
  token: NewToken,
  now: Date,
): Promise<{ id: number; token: string }> {
  const secret = newSecret();
  const { id } = await tx
    .insertInto("tokens")
    .values({
      ...token,
      scopes: token.scopes === null ? null : [...token.scopes],
      allowed_addresses: token.allowed_addresses ? [...token.allowed_addresses] : null,
      secret_sha256: hashSecret(secret),
      created_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { id, token: writeToken({ account_id: token.account_id, token_id: id, secret }) };
}
