import { sql, type RawBuilder } from "kysely";
import { longFrozenUntil } from "../../accounts/accounts/is-frozen.ts";

/**
 * SQL: whether a row of `calls` keeps its node and trunk from being removed: it is live, or it is queued for an account
 * that is not frozen for long. An account that has moved keeps its queued calls at the source, where none is placed.
 */
export function keepsItsPlace(now: Date): RawBuilder<boolean> {
  return sql`(calls.stage not in ('queued', 'ended') or calls.stage = 'queued' and calls.account_id not in (
    select a.account_id from accounts a where a.frozen_at <= ${longFrozenUntil(now)}))`;
}
