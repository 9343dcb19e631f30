-- Returns a caller ID as the trunk spells it, which is what its carrier expects; as given if the trunk does not list it.
create or replace function trunk_spelling(p_trunk trunks, p_number text) returns text
language sql stable as $$
  select coalesce((
    select c.number from unnest(p_trunk.caller_ids) with ordinality c (number, place)
    where right(c.number, 10) = right(p_number, 10)
    order by c.number = p_number desc, c.place limit 1), p_number)
$$;
