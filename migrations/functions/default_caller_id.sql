-- Returns the caller ID of the account's calls over the trunk that name none: the first of the trunk's caller IDs
-- that belongs to the account, else, unless the trunk is restricted and not its own, the first that belongs to no
-- account. Null: the carrier sets one.
create or replace function default_caller_id(p_account_id bigint, p_trunk trunks) returns text
language sql stable as $$
  select c.number
  from unnest(p_trunk.caller_ids) with ordinality c (number, place)
  left join phone_numbers n on right(n.number, 10) = right(c.number, 10)
  group by c.number, c.place
  having bool_or(n.account_id = p_account_id) or count(n.number) = 0
    and (not p_trunk.caller_ids_only or coalesce(p_trunk.only_account_id = p_account_id, false))
  order by bool_or(n.account_id = p_account_id) is true desc, c.place limit 1
$$;
