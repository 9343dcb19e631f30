-- Moves recipients with the results of a sender, some of which are deferred, as chat_move_recipients_with_events does. A
-- deferred one whose person is listed under another address, too, is skipped later: see schedule_skip_duplicates. The
-- caller has locked the campaigns of those deferred.
create or replace function move_deferred_recipients(p_account_id bigint, p_moves chat_move[], p_now timestamptz)
returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_moved chat_moved[];
begin
  v_moved := array(
    select v from chat_move_recipients_with_events(p_account_id, 'sender', p_moves, p_now) v);
  perform schedule_skip_duplicates(p_account_id, v_moved, p_now);
  return query select * from unnest(v_moved);
end $$;
