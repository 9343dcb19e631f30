-- Assigns the account's next seqs to at most p_batch committed events in id order, and creates their
-- deliveries. Returns zeroes also when another process is relaying. event_heads is locked until the commit,
-- so batches are serialized: a reader that sees a seq sees every lower one.
--
-- The plan must not depend on statistics: joined to the batch, a plan made for an empty table read all of the
-- account's events for each of five new ones (199,465 rows). width_bucket finds an id's place in the sorted
-- array.
create or replace function relay_events(p_account_id bigint, p_batch int, p_now timestamptz, out relayed int, out deliveries int)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_head bigint;
  v_ids bigint[];
begin
  relayed := 0;
  deliveries := 0;
  insert into event_heads (account_id, seq) values (p_account_id, 0) on conflict do nothing;
  select h.seq into v_head from event_heads h
    where h.account_id = p_account_id for update skip locked;
  if not found then
    return;
  end if;
  v_ids := array(
    select e.id from events e
    where e.account_id = p_account_id and e.seq is null
    order by e.id limit p_batch);
  relayed := cardinality(v_ids);
  update events e set seq = v_head + width_bucket(e.id, v_ids)
    where e.account_id = p_account_id and e.id = any (v_ids);
  update event_heads h set seq = v_head + relayed where h.account_id = p_account_id;
  deliveries := make_deliveries(p_account_id, v_ids, null, '{}', p_now);
end
$$;
