import { statement, type Tx } from "../../lib/database/database.ts";
import type { Channel, SuppressionSource } from "./suppression-schema.ts";

export type Suppression = {
  readonly account_id: number;
  /** E.164 digits, without the plus. */
  readonly phone: string;
  readonly channel: Channel;
  readonly reason: string;
  readonly source: SuppressionSource;
  /** Null: for ever. */
  readonly expires_at: Date | null;
  /** Null: the service itself. */
  readonly created_by: number | null;
};

/** When a new suppression replaces the one that is there (`held`): only when it holds longer. */
export const holds_longer = `
  held.expires_at < excluded.expires_at
  or (held.expires_at is not null and excluded.expires_at is null)`;

const upsert = statement<{ id: number }>(`
  insert into suppressions as held
    (account_id, phone, channel, reason, source, expires_at, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (account_id, phone, channel) do update set
    reason = excluded.reason, source = excluded.source, expires_at = excluded.expires_at,
    created_by = excluded.created_by, created_at = excluded.created_at
  where ${holds_longer}
  returning id`);

/**
 * Keeps a channel from a number until `expires_at`. One that holds as long or longer stays as it is,
 * with its reason and source: nothing shortens an opt-out but its removal. Returns whether anything
 * changed. The row is locked until the end of the transaction: one that suppresses several goes
 * by phone and channel, in ascending order, so that two never wait for each other.
 */
export async function suppress(tx: Tx, suppression: Suppression, now: Date): Promise<boolean> {
  const { account_id, phone, channel, reason, source, expires_at, created_by } = suppression;
  const values = [account_id, phone, channel, reason, source, expires_at, created_by, now];
  return (await upsert(tx, values)).length > 0;
}
