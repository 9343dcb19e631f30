// The storage quota of an account.
import { statement, type Executor } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";

/** Returns a violation of `field` if `bytes` more do not fit into the account's storage quota. */
export async function validateStorage(
  db: Executor,
  account_id: number,
  field: string,
  bytes: number,
): Promise<FieldError[]> {
  const { used, megabytes } = (await readStorage(db, [account_id]))[0]!;
  if (used + bytes <= megabytes * 1_000_000) return [];
  const used_megabytes = Math.ceil(used / 1_000_000);
  const reason = `does not fit into the account's storage quota: ${used_megabytes} MB of ${megabytes} MB are used`;
  return [{ field, reason }];
}

/** Returns whether the account has used up its storage quota. */
export async function isStorageFull(db: Executor, account_id: number): Promise<boolean> {
  const { used, megabytes } = (await readStorage(db, [account_id]))[0]!;
  return used >= megabytes * 1_000_000;
}

const readStorage = statement<{ used: number; megabytes: number }>(`
  select storage_used($1) as used, a.storage_megabytes as megabytes
  from accounts a where a.account_id = $1`);
