// The default caller IDs of several trunks in one statement.
import { sql, type RawBuilder } from "kysely";

/**
 * Selects `trunk_id` and `caller_id` as the SQL function default_caller_id returns it, which Citus does not run for the
 * rows of an account; a test compares them. `trunkIds` is an array.
 */
export const defaultCallerIds = (account_id: number, trunkIds: RawBuilder<unknown>) => sql`
  select t.id as trunk_id, coalesce((
    select c.number
    from unnest(t.caller_ids) with ordinality c (number, place)
    join phone_numbers n on n.account_id = ${account_id} and right(n.number, 10) = right(c.number, 10)
    order by c.place limit 1
  ), (
    select c.number
    from unnest(t.caller_ids) with ordinality c (number, place)
    where (not t.caller_ids_only or t.only_account_id = ${account_id})
      and not exists (select from phone_numbers n where right(n.number, 10) = right(c.number, 10))
    order by c.place limit 1
  )) as caller_id
  from trunks t where t.id = any (${trunkIds})`;
