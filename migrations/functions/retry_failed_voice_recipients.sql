-- Makes the recipients of a voice campaign whose last call failed due again, and the campaign run: those whose
-- last call has one of p_outcomes (null: any) and who were not reached for one of p_reasons (null: any). If both are
-- null, those that an automatic retry would call and those whose script or prompts could not be synthesized. Once
-- retention has deleted the record of the last call, the recipient's state is its outcome, except for failed. Returns
-- how many; the caller has locked the campaign. Credit is reserved by each call. Attempts and the last result are kept,
-- and call_state lets no automatic redial follow, so that each recipient gets one more call.
create or replace function retry_failed_voice_recipients(
  p_account_id bigint, p_campaign_id bigint, p_outcomes text[], p_reasons text[], p_now timestamptz
) returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  v_open text;
  v_ids int[];
  v_from record;
begin
  select case when v.call_type = 'obd_smartvoice' then 'synthesizing' else 'waiting' end into v_open
    from voice_campaigns v where v.account_id = p_account_id and v.id = p_campaign_id;
  v_ids := array(
    select r.id from voice_recipients r
    left join calls c on c.account_id = r.account_id and c.id = r.call_id
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id
      and r.state in ('busy', 'no_answer', 'failed', 'machine')
      and (p_outcomes is null or coalesce(c.disposition, nullif(r.state, 'failed')) = any (p_outcomes))
      and (p_reasons is null or (r.state <> 'machine'
        and voice_failure_reason(r.state, r.skip_reason, r.call_id, c.ended_reason) = any (p_reasons)))
      and (p_outcomes is not null or p_reasons is not null or (r.state <> 'machine' and (r.call_id is null
        or coalesce(c.disposition, nullif(r.state, 'failed'))
          in ('busy', 'no_answer', 'congestion', 'unreachable', 'failed')
        or c.ended_reason = 'speech_rejected')))
      -- Not erased.
      and r.phone <> ''
    order by r.id
    for no key update of r);
  if cardinality(v_ids) = 0 then return 0; end if;

  -- Synthesized audio may have been purged since.
  for v_from in
    with failed as materialized (
      select r.id, r.state from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_ids)
    ), queued as (
      update voice_recipients r set state = v_open, due_at = p_now, finished_at = null, audio_name = null,
        retries = r.retries + 1, last_result = case when r.attempts > 0 then r.state end
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_ids)
    )
    select f.state, count(*)::int as n from failed f group by f.state order by f.state
  loop
    perform count_voice(p_account_id, p_campaign_id, 9, v_from.state, v_open, v_from.n);
  end loop;
  update voice_campaigns v set state = 'running', finished_at = null
    where v.account_id = p_account_id and v.id = p_campaign_id;
  return cardinality(v_ids);
end $$;
