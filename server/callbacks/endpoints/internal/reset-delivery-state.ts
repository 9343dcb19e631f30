import { sql } from "kysely";

/**
 * Returns the columns to set when an endpoint is enabled or its URL changes: its failures are reset, and its
 * deliverer makes its pending deliveries due.
 */
export function resetDeliveryState(account_id: number, id: number, now: Date) {
  const work_at = sql<Date | null>`case when exists (
    select from callback_deliveries d
    where d.account_id = ${account_id} and d.endpoint_id = ${id} and d.state = 'pending'
  ) then ${now}::timestamptz end`;
  return { failing_since: null, resume_at: null, work_at, retry_now: true };
}
