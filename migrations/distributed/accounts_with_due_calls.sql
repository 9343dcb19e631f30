-- As the function of this name on PostgreSQL. Each of its jumps would ask every shard; here, each shard reads its due calls.
create or replace function accounts_with_due_calls(p_node_id bigint, p_now timestamptz)
returns table (account_id bigint, trunk_id bigint, due_at timestamptz)
language plpgsql stable as $$
begin
  return query
    select c.account_id, c.trunk_id, min(c.due_at) from calls c
    where c.node_id = p_node_id and c.stage = 'queued' and c.due_at <= p_now
    group by c.account_id, c.trunk_id;
end
$$;
