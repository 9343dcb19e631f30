-- Returns an event's data without personal data: keeps numbers, times and our own constants, and empties all
-- other text, arrays and objects.
create or replace function erase_event_data(p_data json) returns json
language sql immutable as $$
  select coalesce(json_object_agg(d.key, case
    when json_typeof(d.value) in ('number', 'boolean', 'null') then d.value
    when json_typeof(d.value) = 'array' then '[]'::json
    when json_typeof(d.value) = 'object' then '{}'::json
    when d.key like '%\_at' or d.key in ('type', 'status', 'leg', 'by', 'disposition', 'ended_reason',
      'ended_by', 'answered_by', 'reason', 'error', 'state', 'channel', 'from_number', 'agent_number') then d.value
    else '""'::json end order by d.place), '{}')
  from json_each(p_data) with ordinality d (key, value, place)
$$;
