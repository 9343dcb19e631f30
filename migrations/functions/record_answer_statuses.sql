-- Records the delivery statuses of users' answers to replies, and their events. A status never goes back: failed
-- outranks sent, and delivered and read outrank failed. Locks the replies in the order of their ids. Returns the
-- subjects of the credit reservations of answers that have failed now.
create or replace function record_answer_statuses(p_account_id bigint, p_statuses json) returns text[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_ranks constant jsonb := '{"sent": 1, "failed": 2, "delivered": 3, "read": 4}';
  v_failed text[] := '{}';
  v_status record;
  v_reply chat_replies;
  v_before jsonb;
begin
  for v_status in
    select * from json_to_recordset(p_statuses)
      s (reply_id bigint, message_id text, status text, error text, error_code int, at timestamptz)
    order by s.reply_id, s.message_id
  loop
    select * into v_reply from chat_replies r
      where r.account_id = p_account_id and r.id = v_status.reply_id for no key update;
    select a into v_before from jsonb_array_elements(v_reply.answers) a where a ->> 'message_id' = v_status.message_id;
    continue when v_before is null
      or (v_ranks ->> v_status.status)::int <= coalesce((v_ranks ->> (v_before ->> 'status'))::int, 0);
    update chat_replies r set answers = (
      select jsonb_agg(case when a ->> 'message_id' <> v_status.message_id then a else a || jsonb_build_object(
        'outcome', case when v_status.status = 'failed' then 'failed' else 'accepted' end, 'error', v_status.error,
        'status', v_status.status,
        'status_at', to_char(v_status.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end order by n)
      from jsonb_array_elements(r.answers) with ordinality e (a, n))
    where r.account_id = p_account_id and r.id = v_status.reply_id;
    insert into events (account_id, type, occurred_at, data) values (
      p_account_id, 'chat.answer.' || v_status.status, v_status.at, json_build_object(
        'reply_id', v_reply.id, 'message_id', v_status.message_id, 'chat_number_id', v_reply.chat_number_id,
        'phone_number', v_reply.phone, 'bsuid', v_reply.bsuid, 'status', v_status.status,
        'error_code', v_status.error_code, 'error', v_status.error,
        'at', to_char(v_status.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    if v_status.status = 'failed' and v_before ->> 'outcome' <> 'failed' then
      v_failed := v_failed || ('chat_answer:' || substring(v_status.message_id from '[^.]*$'));
    end if;
  end loop;
  return v_failed;
end $$;
