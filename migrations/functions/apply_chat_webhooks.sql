-- Applies a batch of chat_inbox rows: the statuses of answers (p_answers), then the rest as apply_delivery_statuses
-- does, whose check of the lease undoes both. Refunds failed answers last, because the balance must be the last lock.
create or replace function apply_chat_webhooks(
  p_account_id bigint, p_number_id bigint, p_fence bigint, p_moves json, p_replies json, p_done bigint[], p_later json,
  p_now timestamptz, p_answers json
) returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_failed text[] := record_answer_statuses(p_account_id, p_answers);
  v_reservation_id bigint;
begin
  return query select * from apply_delivery_statuses(
    p_account_id, p_number_id, p_fence, p_moves, p_replies, p_done, p_later, p_now);
  for v_reservation_id in
    select r.id from credit_reservations r where r.account_id = p_account_id and r.subject = any (v_failed)
  loop
    perform settle_credits(p_account_id, v_reservation_id, 0, 0, 1, p_now);
  end loop;
end $$;
