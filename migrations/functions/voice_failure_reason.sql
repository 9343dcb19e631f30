-- Returns why a recipient of a voice campaign was not reached, for the states busy, no_answer, failed, suppressed and
-- skipped. ended_reason is the last call's, whose record may be deleted before the recipient's. The planner inlines it.
create or replace function voice_failure_reason(state text, skip_reason text, call_id bigint, ended_reason text)
returns text
language sql immutable parallel safe as $$
  select case
    when state in ('no_answer', 'suppressed') then state
    when state = 'busy' then case when ended_reason = 'customer_declined' then ended_reason else state end
    else coalesce(skip_reason, ended_reason, case when call_id is null then 'not_synthesized' else 'record_deleted' end)
  end
$$;
