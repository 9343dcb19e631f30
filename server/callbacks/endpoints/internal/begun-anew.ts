import { sql } from "kysely";

/** What an endpoint's row becomes that is enabled, or leads elsewhere: it has not failed yet, and what is pending is due. */
export function begunAnew(account_id: number, id: number, now: Date) {
  const work_at = sql<Date | null>`case when exists (
    select from callback_deliveries d
    where d.account_id = ${account_id} and d.endpoint_id = ${id} and d.state = 'pending'
  ) then ${now}::timestamptz end`;
  return { failing_since: null, resume_at: null, work_at };
}
