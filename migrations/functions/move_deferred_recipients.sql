-- Moves recipients with the results of a sender, some of which are deferred, as chat_move_recipients_with_events does. A
-- deferred one whose person is listed under another address, too, is skipped later: see schedule_skip_duplicates. The
-- caller has locked the campaigns of those deferred.
--
-- A sender that lost its lease may record that a message was not accepted after it was settled as of unknown outcome. It
-- is past retrying, and its campaign may have ended: it is an ordinary refusal, whose credit is returned.
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
  v_late chat_move[];
begin
  v_moved := array(
    select v from chat_move_recipients_with_events(p_account_id, 'sender', p_moves, p_now) v);
  perform schedule_skip_duplicates(p_account_id, v_moved, p_now);

  -- Counted first, because the search compares each with each.
  if (select count(*) from unnest(p_moves) m where m.state = 'deferred')
    > (select count(*) from unnest(v_moved) v where v.to_state = 'deferred')
  then
    -- Without an error, no request was sent. These recipients are locked already; of those that were not moved, only
    -- unresolved ones may be refused.
    select array_agg((m.campaign_id, m.id, m.dispatches, 'refused', m.provider_message_id, m.error_code,
      coalesce(m.error, 'unreachable'), null, m.at, m.recipient_side)::chat_move order by m.campaign_id, m.id)
    into v_late from unnest(p_moves) m
    where m.state = 'deferred'
      and not exists (select from unnest(v_moved) v where v.campaign_id = m.campaign_id and v.id = m.id);
    perform chat_move_recipients_with_events(p_account_id, 'sender', v_late, p_now);
  end if;
  return query select * from unnest(v_moved);
end $$;
