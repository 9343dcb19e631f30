import { sql, type RawBuilder } from "kysely";

/**
 * Returns the SQL expression of why a recipient was not reached, which a retry by reason selects by, too. `recipient` is
 * the alias of the recipient; `c` is that of its last call.
 */
export function failureReason(recipient: string): RawBuilder<string> {
  const column = (name: string) => sql.ref(`${recipient}.${name}`);
  return sql<string>`voice_failure_reason(${column("state")}, ${column("skip_reason")}, ${column("call_id")},
    c.ended_reason)`;
}
