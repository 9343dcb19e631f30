-- Takes over the calls that a previous leader left in progress on the node, except those in p_known, and
-- returns their state. Calls that were claimed but not dialed go back to the queue, to be checked for
-- blockers again.
create or replace function adopt_calls(p_account_id bigint, p_node_id bigint, p_fence bigint, p_known bigint[])
returns table (call jsonb)
language plpgsql as $$
declare
  v_id bigint;
begin
  with given_back as (
    update calls c set fence = p_fence, stage = 'queued'
    where c.node_id = p_node_id and c.account_id = p_account_id
      and c.stage = 'agent' and c.initiated_at is null and c.fence <= p_fence and c.id <> all (p_known)
    returning c.id, c.to_phone
  )
  delete from live_customers p using given_back g
    where p.account_id = p_account_id and p.phone_key = phone_key(g.to_phone) and p.call_id = g.id;
  for v_id in
    update calls c set fence = p_fence
    where c.node_id = p_node_id and c.account_id = p_account_id
      and c.stage not in ('queued', 'ended') and c.fence <= p_fence and c.id <> all (p_known)
    returning c.id
  loop
    call := call_state(p_account_id, v_id);
    return next;
  end loop;
end $$;
