-- Erases the customer's personal data from those of the calls that are with the phone, except their recordings, which
-- are on the node, and records them for the erasure. The calls have ended. Cost, duration and outcome stay as anonymous
-- numbers.
create or replace function erase_calls(
  p_account_id bigint, p_call_ids bigint[], p_phone text, p_erasure_id bigint
) returns void
language plpgsql as $$
declare
  v_call_ids bigint[];
  v_campaign_ids bigint[];
  v_lead_ids bigint[];
begin
  select array_agg(c.id), array_agg(c.campaign_id), array_agg(distinct c.lead_id)
    into v_call_ids, v_campaign_ids, v_lead_ids from calls c
    where c.account_id = p_account_id and c.id = any (p_call_ids) and c.to_phone = any (phone_spellings(p_phone));
  -- Of a lead that is kept, because it has another phone now.
  update lead_timeline t
    set data = (t.data::jsonb - array['keys', 'collected', 'transcript', 'recordingUrl'])::json
    where t.account_id = p_account_id and t.lead_id = any (v_lead_ids) and t.kind = 'call'
      and (t.data ->> 'callId')::bigint = any (v_call_ids);
  update calls c set to_number = '', to_phone = '', dtmf = '', collected = '{}', lead_fields = '{}',
      position = null, lead_id = null
    where c.account_id = p_account_id and c.id = any (v_call_ids);
  update call_legs l set number = ''
    where l.account_id = p_account_id and l.call_id = any (v_call_ids) and l.role = 'customer';
  update call_events e set data = erase_event_data(e.data)
    where e.account_id = p_account_id and e.call_id = any (v_call_ids);
  -- Still counts as a key press in the campaign's report.
  update call_menu_steps s set key = 'erased'
    where s.account_id = p_account_id and s.call_id = any (v_call_ids) and s.key not in ('timeout', 'invalid');
  delete from call_transcripts t where t.account_id = p_account_id and t.call_id = any (v_call_ids);
  delete from call_messages m
    where m.account_id = p_account_id and m.call_id = any (v_call_ids) and m.state = 'deleted';
  update click_to_calls p set to_number = '', to_phone = '', remark = null, reference = null, source = null
    where p.account_id = p_account_id and p.campaign_id = any (v_campaign_ids);
  insert into erasure_records (account_id, erasure_id, record_id, kind)
    select p_account_id, p_erasure_id, t.id, 'customer_call' from unnest(v_call_ids) t (id)
    on conflict do nothing;
end $$;
