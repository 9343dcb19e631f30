import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "../../../lib/database/database.ts";
import type { Secrets } from "../../../lib/secrets/secrets.ts";
import { secret_bytes, secretPlace } from "../sign-callback.ts";

/** A new endpoint's ID with its secret: plain, and sealed for its row. */
export type NewSecret = {
  readonly id: number;
  readonly plain: Buffer;
  readonly secret: Buffer;
};

/** Draws the ID of a new endpoint, because a secret is sealed for one row, and a random secret. */
export async function newEndpointSecret(
  tx: Tx,
  secrets: Secrets,
  account_id: number,
): Promise<NewSecret> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('callback_endpoints', 'id')) as id`.execute(tx);
  const [{ id }] = rows as [{ id: number }];
  const plain = newSecret();
  return { id, plain, secret: sealSecret(secrets, "secret", account_id, id, plain) };
}

/** Returns a new random secret. */
export function newSecret(): Buffer {
  return randomBytes(secret_bytes);
}

/** Returns a secret as it is stored. */
export function sealSecret(
  secrets: Secrets,
  column: "secret" | "old_secret",
  account_id: number,
  id: number,
  plain: Buffer,
): Buffer {
  return Buffer.from(secrets.seal(secretPlace(column, account_id, id), plain));
}
