-- Only versions before erase_calls call it; a later release drops it.
-- Erases the customer's personal data from a call that has ended, except its recordings, which are on the
-- node. Cost, duration and outcome stay as anonymous numbers.
create or replace function erase_call(p_account_id bigint, p_call_id bigint) returns void
language plpgsql as $$
declare
  v_campaign_id bigint;
begin
  update calls c set to_number = '', to_phone = '', dtmf = '', collected = '{}', lead_fields = '{}',
      position = null, lead_id = null
    where c.account_id = p_account_id and c.id = p_call_id
    returning c.campaign_id into v_campaign_id;
  update call_legs l set number = ''
    where l.account_id = p_account_id and l.call_id = p_call_id and l.role = 'customer';
  update call_events e set data = erase_event_data(e.data)
    where e.account_id = p_account_id and e.call_id = p_call_id;
  -- Still counts as a key press in the campaign's report.
  update call_menu_steps s set key = 'erased'
    where s.account_id = p_account_id and s.call_id = p_call_id and s.key not in ('timeout', 'invalid');
  delete from call_transcripts t where t.account_id = p_account_id and t.call_id = p_call_id;
  delete from call_messages m
    where m.account_id = p_account_id and m.call_id = p_call_id and m.state = 'deleted';
  update click_to_calls p set to_number = '', to_phone = '', remark = null, reference = null, source = null
    where p.account_id = p_account_id and p.campaign_id = v_campaign_id;
end $$;
