import { statement, type Tx } from "../../lib/database/database.ts";
import type { Channel, SuppressionSource } from "./suppression-schema.ts";

export type Suppression = {
  readonly account_id: number;
  /** E.164 digits, without the plus. */
  readonly phone: string;
  readonly channel: Channel;
  readonly reason: string;
  readonly source: SuppressionSource;
  /** Null: never. */
  readonly expires_at: Date | null;
  /** Null: Trunkline itself. */
  readonly created_by: number | null;
};

/** The condition on which a new suppression replaces the existing one (`existing`): only if it lasts longer. */
export const lasts_longer = `
  existing.expires_at < excluded.expires_at
  or (existing.expires_at is not null and excluded.expires_at is null)`;

const upsert = statement<{ id: number }>(`
  insert into suppressions as existing
    (account_id, phone, channel, reason, source, expires_at, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (account_id, phone, channel) do update set
    reason = excluded.reason, source = excluded.source, expires_at = excluded.expires_at,
    created_by = excluded.created_by, created_at = excluded.created_at
  where ${lasts_longer}
  returning id`);

/**
 * Suppresses a number on a channel until `expires_at` and returns whether anything changed. An existing
 * suppression that lasts as long or longer keeps its reason and source: only removal shortens an opt-out.
 * The row stays locked until the end of the transaction; to avoid deadlocks, suppress several numbers in
 * ascending order of phone and channel.
 */
export async function suppress(tx: Tx, suppression: Suppression, now: Date): Promise<boolean> {
  const { account_id, phone, channel, reason, source, expires_at, created_by } = suppression;
  const values = [account_id, phone, channel, reason, source, expires_at, created_by, now];
  return (await upsert(tx, values)).length > 0;
}
