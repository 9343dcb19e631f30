-- Queues the failed recipients of a chat campaign again, those with one of p_errors or all (null), and makes
-- the campaign run. Returns how many, and for how many of them the caller reserves a credit; it has locked the
-- campaign. Definite failures: the provider refused the message, reported that it was not delivered, or was never
-- asked. With p_may_duplicate also messages whose outcome never arrived: they may have been received, and their
-- credit was captured. Not by chat_transitions, because no report of the provider and no other request may queue
-- these.
create or replace function retry_chat_recipients(
  p_account_id bigint, p_campaign_id bigint, p_errors text[], p_may_duplicate boolean, p_now timestamptz
) returns table (retried int, uncharged int)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_refused int;
  v_undelivered int;
  v_skipped int;
  v_unresolved int;
  v_retried int;
  v_uncharged int;
begin
  with failed as materialized (
    -- Locked in the order in which delivery statuses lock them.
    select r.id, r.state, r.charged, r.dispatched_at,
      date_bin('15 minutes', coalesce(r.dispatched_at, r.accepted_at, r.ended_at), 'epoch') as quarter
    from chat_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id
      and (r.state in ('refused', 'undelivered') or (r.state = 'skipped' and r.error = 'campaign_failed')
        or (r.state = 'unresolved' and p_may_duplicate))
      and (p_errors is null or r.error = any (p_errors))
      -- Not erased.
      and (r.phone <> '' or r.bsuid is not null)
    order by r.id
    for no key update
  ), queued as (
    -- Dispatches are kept: the next message has an ID of its own.
    update chat_recipients r set state = 'queued', attempts = 0, due_at = null, provider_message_id = null,
      error_code = null, error = null, retry_error = null, accepted_at = null, sent_at = null, ended_at = null,
      -- A repeated report that this message was sent must not end the retry.
      failed_dispatch = case when f.state = 'undelivered' then r.dispatches else r.failed_dispatch end
    from failed f
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = f.id
  ), reported as (
    -- Those that were never dispatched are again the rest of the campaign's total.
    insert into chat_report_counts as n (account_id, campaign_id, chat_number_id, begins_at, slot, failed, pending)
    select p_account_id, p_campaign_id, c.chat_number_id, f.quarter, 'controls', -count(*), count(f.dispatched_at)
    from failed f
    join chat_campaigns c on c.account_id = p_account_id and c.id = p_campaign_id
    group by c.chat_number_id, f.quarter
    order by f.quarter
    on conflict (account_id, campaign_id, begins_at, slot, chat_number_id) do update set
      failed = n.failed + excluded.failed, pending = n.pending + excluded.pending
  )
  select count(*) filter (where f.state = 'refused'), count(*) filter (where f.state = 'undelivered'),
    count(*) filter (where f.state = 'skipped'), count(*) filter (where f.state = 'unresolved'), count(*),
    count(*) filter (where not f.charged)
  into v_refused, v_undelivered, v_skipped, v_unresolved, v_retried, v_uncharged from failed f;
  if v_retried = 0 then return query select 0, 0; return; end if;

  insert into chat_counts as c (account_id, campaign_id, slot, queued, refused, undelivered, skipped, unresolved)
  values (p_account_id, p_campaign_id, 'controls', v_retried, -v_refused, -v_undelivered, -v_skipped, -v_unresolved)
  on conflict (account_id, campaign_id, slot) do update set
    queued = c.queued + excluded.queued, refused = c.refused + excluded.refused,
    undelivered = c.undelivered + excluded.undelivered, skipped = c.skipped + excluded.skipped,
    unresolved = c.unresolved + excluded.unresolved;
  update chat_campaigns c set state = 'running', failure = null, finished_at = null,
      work_at = p_now, retried = c.retried + v_uncharged
    where c.account_id = p_account_id and c.id = p_campaign_id;
  return query select v_retried, v_uncharged;
end $$;
