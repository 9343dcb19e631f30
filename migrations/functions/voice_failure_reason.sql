-- Returns why a recipient of a voice campaign was not reached, for the states busy, no_answer, failed, suppressed and
-- skipped. ended_reason is the last call's. A script is synthesized again before a retry, so the last call of a recipient
-- whose script then failed is an earlier one. An erased recipient has no audio either. The planner inlines it.
create or replace function voice_failure_reason(
  call_type text, state text, phone text, audio_name text, skip_reason text, ended_reason text
) returns text
language sql immutable parallel safe as $$
  select case
    when state in ('no_answer', 'suppressed') then state
    when state = 'busy' then case when ended_reason = 'customer_declined' then ended_reason else state end
    when state = 'failed' and call_type = 'obd_smartvoice' and audio_name is null and phone <> ''
      then 'not_synthesized'
    else coalesce(skip_reason, ended_reason, 'not_synthesized')
  end
$$;
