-- Returns an id from an event's data, or null if it has none: an unexpected value must not block the relay.
create or replace function read_id(p_data json, p_field text) returns bigint
language sql immutable as $$
  select case when p_data ->> p_field ~ '^[0-9]{1,18}$' then (p_data ->> p_field)::bigint end
$$;
