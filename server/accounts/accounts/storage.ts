// The storage quota of an account.
import { LRUCache } from "lru-cache";
import { statement, type Executor, type Tx } from "../../lib/database/database.ts";
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

// Beside the key share of lockUnfrozen, which every long write of the account holds.
const lockAccount = statement("select from accounts where account_id = $1 for no key update");

/**
 * As validateStorage, but also sees what other processes store at the same time: they wait for the end of this
 * transaction, which must come soon.
 */
export async function lockAndValidateStorage(
  tx: Tx,
  account_id: number,
  field: string,
  bytes: number,
): Promise<FieldError[]> {
  await lockAccount(tx, [account_id]);
  return validateStorage(tx, account_id, field, bytes);
}

/** Whether the storage of accounts was full some seconds ago. */
export type FullStorages = {
  get(account_id: number): boolean | undefined;
  set(account_id: number, isFull: boolean): unknown;
};

/** Creates a cache for `wasStorageFull`. */
export function openFullStorages(): FullStorages {
  return new LRUCache({ max: 10_000, ttl: 5_000 });
}

/**
 * Returns whether the account had used up its storage quota some seconds ago. Asks the database only every few seconds,
 * because it adds up the account's audio.
 */
export async function wasStorageFull(
  db: Executor,
  known: FullStorages,
  account_id: number,
): Promise<boolean> {
  const answer = known.get(account_id);
  if (answer !== undefined) return answer;
  const { used, megabytes } = (await readStorage(db, [account_id]))[0]!;
  const isFull = used >= megabytes * 1_000_000;
  known.set(account_id, isFull);
  return isFull;
}

/**
 * Returns an expression of the bytes of an account's audio, of uploads that are not decoded yet, and of files that are
 * being imported. Audio has 16 bytes per millisecond (lib/audio/audio.ts). Recordings are stored on their nodes.
 */
export const storageUsed = (accountId: string) => `
  coalesce((select sum(k.duration_ms) * 16 from voice_audio k where k.account_id = ${accountId}), 0)
  + coalesce((
    select sum(octet_length(f.upload)) from voice_files f
    where f.account_id = ${accountId} and f.upload is not null), 0)
  + coalesce((
    select sum(i.file_bytes) from lead_imports i
    where i.account_id = ${accountId} and i.state = 'processing'), 0)`;

const readStorage = statement<{ used: number; megabytes: number }>(`
  select (${storageUsed("$1")})::bigint as used, a.storage_megabytes as megabytes
  from accounts a where a.account_id = $1`);
