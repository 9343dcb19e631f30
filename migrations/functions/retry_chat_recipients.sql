-- Queues the failed recipients of a chat campaign again, those with one of p_errors or all (null), and makes
-- the campaign run. Returns how many; the caller has locked the campaign and reserves their credit. Only
-- definite failures: the provider refused the message, reported that it was not delivered, or was never asked.
-- A message of unknown outcome may have been received. Not by chat_transitions, because no report of the
-- provider and no other request may queue these.
create or replace function retry_chat_recipients(
  p_account_id bigint, p_campaign_id bigint, p_errors text[], p_now timestamptz
) returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  v_refused int;
  v_undelivered int;
  v_skipped int;
  v_retried int;
begin
  with failed as materialized (
    -- Locked in the order in which delivery statuses lock them.
    select r.id, r.state from chat_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id
      and (r.state in ('refused', 'undelivered') or (r.state = 'skipped' and r.error = 'campaign_failed'))
      and (p_errors is null or r.error = any (p_errors))
    order by r.id
    for no key update
  ), queued as (
    -- Dispatches are kept: the next message has an ID of its own.
    update chat_recipients r set state = 'queued', attempts = 0, due_at = null, provider_message_id = null,
      error_code = null, error = null, retry_error = null, accepted_at = null, sent_at = null, ended_at = null
    from failed f
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = f.id
  )
  select count(*) filter (where f.state = 'refused'), count(*) filter (where f.state = 'undelivered'),
    count(*) filter (where f.state = 'skipped'), count(*)
  into v_refused, v_undelivered, v_skipped, v_retried from failed f;
  if v_retried = 0 then return 0; end if;

  insert into chat_counts as c (account_id, campaign_id, slot, queued, refused, undelivered, skipped)
  values (p_account_id, p_campaign_id, 'controls', v_retried, -v_refused, -v_undelivered, -v_skipped)
  on conflict (account_id, campaign_id, slot) do update set
    queued = c.queued + excluded.queued, refused = c.refused + excluded.refused,
    undelivered = c.undelivered + excluded.undelivered, skipped = c.skipped + excluded.skipped;
  update chat_campaigns c set state = 'running', failure = null, finished_at = null,
      work_at = p_now, retried = c.retried + v_retried
    where c.account_id = p_account_id and c.id = p_campaign_id;
  return v_retried;
end $$;
