-- Submits a click-to-call: the request, its audit entry, and its first call with reserved credit. One
-- statement, because all calls of the account lock the balance until the commit. Fails with TL002 and changes
-- nothing when there is not enough credit.
create or replace function submit_click_to_call(
  p_asked jsonb, p_call jsonb, p_actor jsonb, p_credits int, p_now timestamptz
) returns bigint
language plpgsql as $$
declare
  v_asked click_to_calls := jsonb_populate_record(null::click_to_calls, p_asked);
  v_actor audit_entries := jsonb_populate_record(null::audit_entries, p_actor);
begin
  insert into call_campaigns (account_id, kind, created_by, token_id, created_at)
    values (v_asked.account_id, 'click_to_call', v_actor.user_id, v_actor.token_id, p_now)
    returning id into v_asked.campaign_id;
  insert into click_to_calls (account_id, campaign_id, from_number, to_number, to_phone, cli_number, policy_applied,
      agent_retry_count, customer_retry_count, max_retry, retry_after_minutes, scheduled_at, from_group_id,
      to_group_id, agent_not_pick_policy, agent_not_pick_group_id, extension_for_transfer, extension_for_dis,
      auto_block_minutes, enable_chat, callback_method, source, remark, reference)
    values (v_asked.account_id, v_asked.campaign_id, v_asked.from_number, v_asked.to_number, v_asked.to_phone,
      v_asked.cli_number, v_asked.policy_applied, v_asked.agent_retry_count, v_asked.customer_retry_count,
      v_asked.max_retry, v_asked.retry_after_minutes, v_asked.scheduled_at, v_asked.from_group_id,
      v_asked.to_group_id, v_asked.agent_not_pick_policy, v_asked.agent_not_pick_group_id,
      v_asked.extension_for_transfer, v_asked.extension_for_dis, v_asked.auto_block_minutes, v_asked.enable_chat,
      v_asked.callback_method, v_asked.source, v_asked.remark, v_asked.reference);
  insert into audit_entries (account_id, at, user_id, token_id, request_id, address, user_agent, action, subject_id)
    values (v_asked.account_id, p_now, v_actor.user_id, v_actor.token_id, v_actor.request_id, v_actor.address,
      v_actor.user_agent, 'click_to_call.submitted', v_asked.campaign_id);
  if queue_call(p_call || jsonb_build_object('campaign_id', v_asked.campaign_id), p_credits, p_now) is null then
    raise exception 'account % has not enough call credit', v_asked.account_id using errcode = 'TL002';
  end if;
  return v_asked.campaign_id;
end $$;
