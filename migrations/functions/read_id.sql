-- An id in an event's data; null where there is none: one odd event must not hold up its account's order.
create or replace function read_id(p_data json, p_field text) returns bigint
language sql immutable as $$
  select case when p_data ->> p_field ~ '^[0-9]{1,18}$' then (p_data ->> p_field)::bigint end
$$;
