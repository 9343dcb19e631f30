-- Whether the account may show the number over the trunk: never another account's number, and over a restricted
-- trunk only one of the trunk's caller IDs that belongs to the account. The last ten digits identify a number.
create or replace function allows_caller_id(p_account_id bigint, p_trunk trunks, p_number text) returns boolean
language sql stable as $$
  select (o.is_own or not o.is_assigned) and (not p_trunk.caller_ids_only
    or right(p_number, 10) in (select right(c.number, 10) from unnest(p_trunk.caller_ids) c (number))
      and (o.is_own or coalesce(p_trunk.only_account_id = p_account_id, false)))
  from (
    select coalesce(bool_or(n.account_id = p_account_id), false) as is_own, count(*) > 0 as is_assigned
    from phone_numbers n where right(n.number, 10) = right(p_number, 10)) o
$$;
