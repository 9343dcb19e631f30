-- Applies a batch of chat_inbox rows under the number's lease: moves, replies, deletion of the processed rows
-- (p_done), and new rows for what can only be applied later (p_later). Returns the recipients that moved. One
-- autocommit call, so that a frozen process holds no locks.
create or replace function apply_delivery_statuses(
  p_account_id bigint, p_number_id bigint, p_fence bigint,
  p_moves json, p_replies json, p_done bigint[], p_later json, p_now timestamptz
) returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  perform check_lease(p_account_id, 'chat_inbound:' || p_number_id, p_fence);
  delete from chat_inbox i where i.account_id = p_account_id and i.id = any (p_done);
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
    select p_account_id, p_number_id, l.driver, l.body, l.received_at, l.due_at
    from json_to_recordset(p_later)
      l (driver text, body json, received_at timestamptz, due_at timestamptz);
  perform record_chat_replies(p_account_id, p_number_id, p_replies);
  return query select * from chat_move_recipients_json(p_account_id, 'inbound', p_moves, p_now);
end $$;
