import { statement, type Tx } from "../../lib/database/database.ts";
import { lockPersonKey, type Person } from "./person-key.ts";
import {
  isLateSource,
  type Channel,
  type Evidence,
  type Scope,
  type SuppressionSource,
} from "./suppression-schema.ts";

export type Suppression = {
  readonly account_id: number;
  readonly person: Person;
  readonly channel: Channel;
  readonly scope: Scope;
  readonly source: SuppressionSource;
  readonly reason: string;
  readonly evidence: Evidence | null;
  /** When it was asked for: the event's own time, not that of its arrival. */
  readonly occurred_at: Date;
  /** Null: never. */
  readonly expires_at: Date | null;
  /** Null: Trunkline itself. */
  readonly created_by: number | null;
};

/** The condition on which a new suppression replaces the existing one (`existing`): only if it lasts longer. */
export const lasts_longer = `
  existing.expires_at < excluded.expires_at
  or (existing.expires_at is not null and excluded.expires_at is null)`;

type Existing = {
  readonly id: number;
  readonly occurred_at: Date;
  readonly expires_at: Date | null;
  readonly lifted_at: Date | null;
  /** Requests up to this time are lifted; null: those before lifted_at. */
  readonly lifts_until: Date | null;
};

const insert = statement<{ id: number }>(`
  insert into suppressions (account_id, person_key, channel, scope, source, phone, bsuid, reason, evidence,
    occurred_at, expires_at, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  on conflict (account_id, person_key, channel, scope, source) do nothing
  returning id`);

const lock = statement<Existing>(`
  select id, occurred_at, expires_at, lifted_at, lifts_until from suppressions
  where account_id = $1 and person_key = $2 and channel = $3 and scope = $4 and source = $5
  for update`);

const nextId = statement<{ id: number }>(
  "select nextval(pg_get_serial_sequence('suppressions', 'id')) as id",
);

const replace = statement(`
  update suppressions set id = coalesce($11, id), lifted_at = null, lifts_until = null, phone = coalesce($3, phone),
    bsuid = coalesce($4, bsuid), reason = $5, evidence = $6, occurred_at = $7, expires_at = $8,
    created_by = $9, created_at = $10
  where account_id = $1 and id = $2`);

const confirm = statement(`
  update suppressions set occurred_at = $3, evidence = coalesce($4, evidence)
  where account_id = $1 and id = $2`);

/**
 * Suppresses a person on a channel until `expires_at` and returns whether anyone is suppressed who was not
 * before by this source, or for longer. Each channel, scope and source has its own row. A request older than
 * the row's lifting has no effect. One that lasts no longer than the row changes nothing, but a later reply or
 * provider request updates the time and evidence.
 * The row stays locked until the end of the transaction: to avoid deadlocks, suppress several people in
 * ascending order of phone key.
 */
export async function suppress(tx: Tx, suppression: Suppression, now: Date): Promise<boolean> {
  const { account_id, person, channel, scope, source, occurred_at, expires_at } = suppression;
  const row = [account_id, await lockPersonKey(tx, account_id, person), channel, scope, source];
  const evidence = suppression.evidence === null ? null : JSON.stringify(suppression.evidence);
  const identity = [person.phone, person.bsuid ?? null];
  const asked = [
    suppression.reason,
    evidence,
    occurred_at,
    expires_at,
    suppression.created_by,
    now,
  ];
  for (;;) {
    if ((await insert(tx, [...row, ...identity, ...asked])).length > 0) return true;
    const [existing] = await lock(tx, row);
    // Deleted since: insert again.
    if (!existing) continue;
    if (isRenewed(existing, suppression)) {
      // A lifted one starts again as a new suppression, with a new ID.
      const [renamed] = existing.lifted_at === null ? [] : await nextId(tx, []);
      await replace(tx, [account_id, existing.id, ...identity, ...asked, renamed?.id ?? null]);
      return true;
    }
    if (isConfirmed(existing, suppression))
      await confirm(tx, [account_id, existing.id, occurred_at, evidence]);
    return false;
  }
}

/**
 * Whether the request is newer than the row's lifting, or lasts longer than the row. Providers' times are whole
 * seconds: within the same one, the suppression stays.
 */
function isRenewed(existing: Existing, { occurred_at, expires_at }: Suppression): boolean {
  if (existing.lifts_until !== null) return existing.lifts_until < occurred_at;
  if (existing.lifted_at !== null) return existing.lifted_at <= occurred_at;
  if (existing.expires_at === null) return false;
  return expires_at === null || existing.expires_at < expires_at;
}

/** Whether the person asked again, after what a late lifting may refer to. */
function isConfirmed(existing: Existing, { source, occurred_at }: Suppression): boolean {
  return isLateSource(source) && existing.lifted_at === null && existing.occurred_at < occurred_at;
}
