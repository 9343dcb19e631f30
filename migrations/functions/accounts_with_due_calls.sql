-- Returns the accounts with due calls on the node and the trunks of these, each with the time of its first call. Reads the
-- due calls, if they are few: any number may be scheduled for later. Otherwise a loose index scan: jumps from trunk to trunk
-- in the index of queued calls, instead of reading all calls of an account that queues many (10,000 and 400 of 20 others:
-- 21 jumps in 3 ms instead of 9).
create or replace function accounts_with_due_calls(p_node_id bigint, p_now timestamptz)
returns table (account_id bigint, trunk_id bigint, due_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
as $$
declare
  v_few constant int := 1000;
  v_due int;
begin
  select count(*) into v_due from (
    select from calls c
    where c.node_id = p_node_id and c.stage = 'queued' and c.due_at <= p_now
    order by c.due_at limit v_few) d;
  if v_due < v_few then
    return query
      select d.account_id, d.trunk_id, min(d.due_at) from (
        select c.account_id, c.trunk_id, c.due_at from calls c
        where c.node_id = p_node_id and c.stage = 'queued' and c.due_at <= p_now
        order by c.due_at limit v_few) d
      group by d.account_id, d.trunk_id;
    return;
  end if;
  account_id := 0;
  trunk_id := 0;
  loop
    select c.account_id, c.trunk_id, c.due_at into account_id, trunk_id, due_at from calls c
    where c.node_id = p_node_id and c.stage = 'queued'
      and (c.account_id, c.trunk_id) > (accounts_with_due_calls.account_id, accounts_with_due_calls.trunk_id)
    order by c.account_id, c.trunk_id, c.due_at limit 1;
    exit when not found;
    if due_at <= p_now then
      return next;
    end if;
  end loop;
end
$$;
