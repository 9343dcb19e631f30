import { statement, type Tx } from "../../lib/database/database.ts";
import { lockPersonKey, type Person } from "./person-key.ts";
import type { Channel, LateSource } from "./suppression-schema.ts";

/** A request that ends what one source suppressed, such as START or a resume at the provider. */
export type Lifting = {
  readonly account_id: number;
  readonly person: Person;
  readonly channel: Channel;
  readonly source: LateSource;
  /** The event's own time. */
  readonly occurred_at: Date;
};

/** The reason of a row that only records a lifting: nothing was suppressed. No other lifted row has it. */
export const only_lifted_reason = "lifted before it was requested";

// Also without a suppression: the older request may still arrive.
const insertLifted = statement(`
  insert into suppressions (account_id, person_key, channel, source, phone, bsuid, occurred_at, expires_at,
    lifted_at, scope, reason, created_at)
  select $1::bigint, $2, $3, $4, $5, $6, $7::timestamptz, least($7::timestamptz, $8::timestamptz),
    $7::timestamptz, scope, '${only_lifted_reason}', $8::timestamptz
  from unnest('{all,marketing}'::text[]) scope
  on conflict (account_id, person_key, channel, scope, source) do nothing`);

const lift = statement<{ was_active: boolean }>(`
  with locked as (
    select id, lifted_at from suppressions
    where account_id = $1 and person_key = $2 and channel = $3 and source = $4
      and occurred_at < $5 and (lifted_at is null or lifted_at < $5)
    order by id for update
  )
  update suppressions s set lifted_at = $5, lifts_until = null, expires_at = least(s.expires_at, $5, $6)
  from locked l where s.account_id = $1 and s.id = l.id
  returning l.lifted_at is null as was_active`);

/**
 * Lifts the suppressions, of every scope, that this source requested for the person before `occurred_at`, and
 * no other source's. Returns whether there were any. An older request that arrives afterwards has no effect.
 */
export async function liftSuppressions(tx: Tx, lifting: Lifting, now: Date): Promise<boolean> {
  const { account_id, person, channel, source, occurred_at } = lifting;
  const person_key = await lockPersonKey(tx, account_id, person);
  const key = [account_id, person_key, channel, source];
  await insertLifted(tx, [...key, person.phone, person.bsuid ?? null, occurred_at, now]);
  const lifted = await lift(tx, [...key, occurred_at, now]);
  return lifted.some(({ was_active }) => was_active);
}
