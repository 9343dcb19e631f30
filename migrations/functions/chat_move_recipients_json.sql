-- Moves recipients as chat_move_recipients_with_events does, from JSON in any order.
create or replace function chat_move_recipients_json(p_account_id bigint, p_slot text, p_moves json, p_now timestamptz)
returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  return query select * from chat_move_recipients_with_events(p_account_id, p_slot, (
    select array_agg(m order by m.campaign_id, m.id) from json_populate_recordset(null::chat_move, p_moves) m),
    p_now);
end $$;
