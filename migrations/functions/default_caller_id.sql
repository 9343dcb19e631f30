-- Returns the caller ID of the account's calls over the trunk that name none: the first of the trunk's caller IDs
-- that belongs to the account, else, unless the trunk is restricted and not its own, the first that belongs to no
-- account. Null: the carrier sets one. Two lookups: as one join, 1,000 caller IDs took 5 ms, now 1 to 2.
create or replace function default_caller_id(p_account_id bigint, p_trunk trunks) returns text
language sql stable as $$
  select coalesce((
    select c.number
    from unnest(p_trunk.caller_ids) with ordinality c (number, place)
    join phone_numbers n on n.account_id = p_account_id and right(n.number, 10) = right(c.number, 10)
    order by c.place limit 1
  ), (
    select c.number
    from unnest(p_trunk.caller_ids) with ordinality c (number, place)
    where (not p_trunk.caller_ids_only or p_trunk.only_account_id = p_account_id)
      and not exists (select from phone_numbers n where right(n.number, 10) = right(c.number, 10))
    order by c.place limit 1
  ))
$$;
