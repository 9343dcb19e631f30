import { sql, type RawBuilder } from "kysely";

/**
 * Returns the SQL expression of why a recipient was not reached, which a retry by reason selects by, too. `recipient` is
 * the alias of the recipient; `c` is that of its last call, and `v` that of the campaign.
 */
export function failureReason(recipient: string): RawBuilder<string> {
  const column = (name: string) => sql.ref(`${recipient}.${name}`);
  return sql<string>`voice_failure_reason(v.call_type, ${column("state")}, ${column("phone")},
    ${column("audio_name")}, ${column("skip_reason")}, c.ended_reason)`;
}
