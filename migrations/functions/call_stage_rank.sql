-- Returns the position of a call's stage; a call never moves to a stage of lower rank.
create or replace function call_stage_rank(p_stage text) returns int
language sql immutable as $$
  select array_position(array['queued', 'agent', 'customer', 'talking', 'ending', 'ended'], p_stage)
$$;
