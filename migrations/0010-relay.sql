-- Gives events their place in the account's order, after commit.
--
-- The order by seq, though it is null here, makes this index the only one that has the order: by id
-- alone, the primary key looked as good to a plan made while all was unsequenced, and later read the
-- account's whole past.
drop index events_unsequenced;
create index events_unsequenced on events (account_id, seq, id) where seq is null;

-- Gives the next seqs to at most p_batch committed events, in id order, and returns how many; 0 also
-- when another process is at it. The row in event_heads is locked to the commit, so the account's
-- batches come one after the other: whoever sees a seq sees every lower one.
create function relay_events(p_account_id bigint, p_batch int) returns int
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_head bigint;
  v_count int;
begin
  insert into event_heads (account_id, seq) values (p_account_id, 0) on conflict do nothing;
  select h.seq into v_head from event_heads h
    where h.account_id = p_account_id for update skip locked;
  if not found then
    return 0;
  end if;
  with batch as materialized (
    select e.id, row_number() over (order by e.seq, e.id) as place from events e
    where e.account_id = p_account_id and e.seq is null
    order by e.seq, e.id limit p_batch
  )
  update events e set seq = v_head + b.place
  from batch b where e.account_id = p_account_id and e.id = b.id;
  get diagnostics v_count = row_count;
  update event_heads h set seq = v_head + v_count where h.account_id = p_account_id;
  return v_count;
end
$$;
