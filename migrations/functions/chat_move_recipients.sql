-- Moves recipients as far as chat_transitions allows, with counts and credit, in the caller's transaction. A
-- move that is not allowed (a repeated or late webhook) changes nothing, except that it may add a missing
-- provider message id. At most one move for each recipient and call, ordered by recipient, because rows are
-- locked in that order; counts, which others may wait for, come last, and the balance after them. The counts of reports
-- change with the recipients, whose rows they need, and no other slot waits for them.
--
-- Plans must not depend on statistics: joined to the moves, a plan made for a table without statistics read
-- all of the account's recipients for each move (1.4-2.9 ms a message instead of 0.08). A lateral look-up
-- that locks, and an upsert, can only use the primary key.
--
-- Moves are counted by their states before they are summed: most of a batch are alike.
create or replace function chat_move_recipients(p_account_id bigint, p_slot text, p_moves chat_move[], p_now timestamptz)
returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_moved chat_moved[];
  v_some_due boolean;
  -- The campaign of each unknown outcome, and when it is due; also of each report that ends a recipient that no sender
  -- waits for. Taken from the rows found, because a join of the results to the moves compares each with each.
  v_unsettled bigint[];
  v_settle_at timestamptz[];
  -- The campaign of each failure for a reason of the recipient.
  v_recipient_side bigint[];
  v_due record;
begin
  if p_moves is null then return; end if;

  with found as materialized (
    select m.*, t.to_state, old.state as from_state, old.phone, old.bsuid, old.variables, old.charged as old_charged,
      -- A credit is captured once: a charged recipient that is retried is not captured again, and a failure
      -- refunds what was captured, not what is reserved.
      case
        when not old.charged then case when t.ledger = 'refund' then '' else t.ledger end
        when t.ledger = 'capture' then ''
        when t.ledger in ('release', 'capture+refund') then 'refund'
        else t.ledger end as ledger,
      old.dispatches + coalesce((t.to_state = 'dispatching')::int, 0) as new_dispatches,
      -- The next dispatch gets an ID of its own.
      case when t.to_state in ('deferred', 'dispatching') then null
        else coalesce(old.provider_message_id, m.provider_message_id) end as new_provider_message_id,
      coalesce(old.retry_error, old.error) as old_retry_error,
      old.due_at as old_due_at, old.error_code as old_error_code, old.error as old_error, old.attempts,
      old.state not in ('refused', 'unresolved', 'undelivered') and t.to_state in ('refused', 'undelivered')
        and coalesce(m.recipient_side, false) as is_recipient_side,
      -- Its campaign may have no pending recipients left, and the caller may end before it completes the campaign. Of those
      -- dispatching, the sender is running, or recovered by the next one, and looks.
      p_slot = 'inbound' and old.state in ('queued', 'deferred', 'unknown')
        and t.to_state in ('sent', 'undelivered', 'delivered', 'read') as may_complete,
      -- When the recipient counts in reports; null before it is dispatched or ends.
      date_bin('15 minutes', coalesce(old.dispatched_at, old.accepted_at, old.ended_at), 'epoch') as old_quarter,
      date_bin('15 minutes', case when t.to_state = 'dispatching' then p_now
        else coalesce(old.dispatched_at, old.accepted_at, m.at, p_now) end, 'epoch') as new_quarter,
      -- Keeps the last error during a retry, and when a marked recipient was not sent.
      t.to_state is null or t.to_state = 'dispatching' or (t.to_state = 'deferred' and m.error is null) as keeps_error,
      old.dispatched_at, old.accepted_at, old.sent_at, old.delivered_at, old.read_at, old.ended_at
    from unnest(p_moves) m
    cross join lateral (
      select * from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = m.campaign_id and r.id = m.id
      for no key update) old
    left join chat_transitions t on t.from_state = old.state and t.to_state = m.state
      and case when m.state in ('delivered', 'read') then true
        -- Also of an earlier dispatch, whose automatic retry it ends, unless that failed and was retried on request.
        when m.state = 'sent' then (m.dispatches <= old.failed_dispatch) is not true
        else m.dispatches = old.dispatches end
    where t.to_state is not null
      -- The provider's answer came after the message's first status.
      or (old.provider_message_id is null and m.provider_message_id is not null and m.dispatches = old.dispatches
        and old.state not in ('deferred', 'queued'))
  ), changed as (
    insert into chat_recipients as r (account_id, campaign_id, id, phone, bsuid, state, dispatches, charged, due_at,
      provider_message_id, error_code, error, retry_error, attempts, dispatched_at, accepted_at, sent_at,
      delivered_at, read_at, ended_at)
    select p_account_id, campaign_id, id, phone, bsuid, coalesce(to_state, from_state), new_dispatches,
      case when ledger = 'capture' then true when ledger in ('refund', 'capture+refund') then false else old_charged end,
      case when to_state is null then old_due_at else due_at end,
      new_provider_message_id,
      case when keeps_error then old_error_code else error_code end,
      case when keeps_error then old_error else error end,
      case when keeps_error or to_state <> 'deferred' then old_retry_error else error end,
      case when keeps_error or to_state <> 'deferred' then attempts
        when error = old_retry_error then attempts + 1 else 1 end,
      case when to_state = 'dispatching' then p_now else dispatched_at end,
      case when to_state in ('accepted', 'sent', 'delivered', 'read')
        then coalesce(accepted_at, at, p_now) when to_state <> 'deferred' or to_state is null then accepted_at end,
      case when to_state in ('sent', 'delivered', 'read') then coalesce(sent_at, at, p_now) else sent_at end,
      case when to_state in ('delivered', 'read') then coalesce(delivered_at, at, p_now) else delivered_at end,
      case when to_state is null then read_at when to_state = 'read' then coalesce(at, p_now) end,
      case when to_state is null then ended_at
        when to_state in ('refused', 'unresolved', 'undelivered', 'skipped', 'cancelled') then coalesce(at, p_now) end
    from found
    on conflict (account_id, campaign_id, id) do update set
      state = excluded.state, dispatches = excluded.dispatches, charged = excluded.charged,
      due_at = excluded.due_at, provider_message_id = excluded.provider_message_id,
      error_code = excluded.error_code, error = excluded.error, retry_error = excluded.retry_error,
      attempts = excluded.attempts, dispatched_at = excluded.dispatched_at,
      accepted_at = excluded.accepted_at, sent_at = excluded.sent_at, delivered_at = excluded.delivered_at,
      read_at = excluded.read_at, ended_at = excluded.ended_at
  ), reported as (
    insert into chat_report_counts as n (account_id, campaign_id, chat_number_id, begins_at, slot,
      sent, delivered, read, failed, pending, credits)
    select p_account_id, d.campaign_id, c.chat_number_id, d.quarter, p_slot,
      d.sent, d.delivered, d.read, d.failed, d.pending, d.credits
    from (
      select g.campaign_id, v.quarter,
        coalesce(sum(v.change) filter (where v.state in ('accepted', 'sent', 'delivered', 'read')), 0) as sent,
        coalesce(sum(v.change) filter (where v.state in ('delivered', 'read')), 0) as delivered,
        coalesce(sum(v.change) filter (where v.state = 'read'), 0) as read,
        coalesce(sum(v.change) filter (
          where v.state in ('refused', 'unresolved', 'undelivered', 'skipped', 'cancelled')), 0) as failed,
        coalesce(sum(v.change) filter (
          where v.state in ('queued', 'deferred', 'dispatching', 'unknown')), 0) as pending,
        coalesce(sum(v.change) filter (where v.charged), 0) as credits
      from (
        select f.campaign_id, f.old_quarter, f.from_state, f.old_charged, f.new_quarter, f.to_state, case
            when f.ledger = 'capture' then true when f.ledger in ('refund', 'capture+refund') then false
            else f.old_charged end as new_charged, count(*)::int as count
        from found f where f.to_state is not null
        group by f.campaign_id, f.old_quarter, f.from_state, f.old_charged, f.new_quarter, f.to_state, new_charged) g
      cross join lateral (values (g.old_quarter, g.from_state, g.old_charged, -g.count),
        (g.new_quarter, g.to_state, g.new_charged, g.count)) v (quarter, state, charged, change)
      where v.quarter is not null
      group by g.campaign_id, v.quarter) d
    cross join lateral (
      select c.chat_number_id from chat_campaigns c
      where c.account_id = p_account_id and c.id = d.campaign_id
      limit 1) c
    -- Most statuses that a message was sent change nothing.
    where (d.sent, d.delivered, d.read, d.failed, d.pending, d.credits) <> (0, 0, 0, 0, 0, 0)
    order by d.campaign_id, d.quarter
    on conflict (account_id, campaign_id, begins_at, slot, chat_number_id) do update set
      sent = n.sent + excluded.sent, delivered = n.delivered + excluded.delivered, read = n.read + excluded.read,
      failed = n.failed + excluded.failed, pending = n.pending + excluded.pending,
      credits = n.credits + excluded.credits
  )
  select array_agg((campaign_id, id, from_state, to_state, ledger, new_dispatches,
    -- The address to send to.
    case when to_state = 'dispatching' then coalesce(phone, bsuid) end,
    case when to_state = 'dispatching' then variables end,
    case when to_state = 'dispatching' then old_retry_error end,
    case when to_state = 'dispatching' then attempts end)::chat_moved) filter (where to_state is not null),
    array_agg(campaign_id) filter (where to_state = 'unknown' or may_complete),
    array_agg(case when to_state = 'unknown' then due_at else p_now + interval '5 s' end)
      filter (where to_state = 'unknown' or may_complete),
    bool_or(ledger <> ''), array_agg(campaign_id) filter (where is_recipient_side)
  into v_moved, v_unsettled, v_settle_at, v_some_due, v_recipient_side from found;

  if v_moved is null then return; end if;

  -- One row per campaign and minute, in a ring of one day.
  insert into chat_minutes as n (account_id, campaign_id, slot, minute_of_day, minute, sent, delivered, failed)
  select p_account_id, d.campaign_id, p_slot, (floor(extract(epoch from p_now) / 60)::bigint) % 1440,
    date_trunc('minute', p_now), d.sent, d.delivered, d.failed
  from (
    select v.campaign_id,
      count(*) filter (where v.to_state in ('accepted', 'sent', 'delivered', 'read')
        and v.from_state not in ('accepted', 'sent', 'delivered', 'read')) as sent,
      count(*) filter (where v.to_state in ('delivered', 'read')
        and v.from_state not in ('delivered', 'read')) as delivered,
      count(*) filter (where v.to_state in ('refused', 'unresolved', 'undelivered', 'skipped')
        and v.from_state not in ('refused', 'unresolved', 'undelivered', 'skipped')) as failed
    from unnest(v_moved) v group by v.campaign_id) d
  where d.sent + d.delivered + d.failed > 0
  order by d.campaign_id
  on conflict (account_id, campaign_id, slot, minute_of_day) do update set
    minute = excluded.minute,
    sent = case when n.minute = excluded.minute then n.sent else 0 end + excluded.sent,
    delivered = case when n.minute = excluded.minute then n.delivered else 0 end + excluded.delivered,
    failed = case when n.minute = excluded.minute then n.failed else 0 end + excluded.failed;

  insert into chat_counts as c (account_id, campaign_id, slot, queued, deferred, dispatching, unknown,
    unresolved, refused, accepted, sent, undelivered, delivered, read, skipped, cancelled, recipient_failures)
  select p_account_id, d.campaign_id, p_slot,
    coalesce(sum(d.change) filter (where d.state = 'queued'), 0),
    coalesce(sum(d.change) filter (where d.state = 'deferred'), 0),
    coalesce(sum(d.change) filter (where d.state = 'dispatching'), 0),
    coalesce(sum(d.change) filter (where d.state = 'unknown'), 0),
    coalesce(sum(d.change) filter (where d.state = 'unresolved'), 0),
    coalesce(sum(d.change) filter (where d.state = 'refused'), 0),
    coalesce(sum(d.change) filter (where d.state = 'accepted'), 0),
    coalesce(sum(d.change) filter (where d.state = 'sent'), 0),
    coalesce(sum(d.change) filter (where d.state = 'undelivered'), 0),
    coalesce(sum(d.change) filter (where d.state = 'delivered'), 0),
    coalesce(sum(d.change) filter (where d.state = 'read'), 0),
    coalesce(sum(d.change) filter (where d.state = 'skipped'), 0),
    coalesce(sum(d.change) filter (where d.state = 'cancelled'), 0),
    coalesce(cardinality(array_positions(v_recipient_side, d.campaign_id)), 0)
  from (
    select v.campaign_id, v.from_state, v.to_state, count(*)::int as count from unnest(v_moved) v
    group by v.campaign_id, v.from_state, v.to_state) g,
    lateral (values (g.campaign_id, g.from_state, -g.count), (g.campaign_id, g.to_state, g.count))
      d (campaign_id, state, change)
  group by d.campaign_id
  order by d.campaign_id
  on conflict (account_id, campaign_id, slot) do update set
    queued = c.queued + excluded.queued, deferred = c.deferred + excluded.deferred,
    dispatching = c.dispatching + excluded.dispatching, unknown = c.unknown + excluded.unknown,
    unresolved = c.unresolved + excluded.unresolved, refused = c.refused + excluded.refused,
    accepted = c.accepted + excluded.accepted, sent = c.sent + excluded.sent,
    undelivered = c.undelivered + excluded.undelivered, delivered = c.delivered + excluded.delivered,
    read = c.read + excluded.read, skipped = c.skipped + excluded.skipped,
    cancelled = c.cancelled + excluded.cancelled,
    recipient_failures = c.recipient_failures + excluded.recipient_failures;

  -- Schedules the job that settles unknown messages and completes their campaign; add-job.ts explains the conflict clause.
  -- Some seconds after a report, because the caller completes the campaign then, and one run serves the reports till then.
  if v_unsettled is not null then
    insert into jobs as j (account_id, kind, subject, run_at, created_at)
    select p_account_id, 'chat.settle_unknown', u.campaign_id::text, min(u.due_at), p_now
    from unnest(v_unsettled, v_settle_at) u (campaign_id, due_at)
    group by u.campaign_id
    order by u.campaign_id
    on conflict (account_id, kind, subject) do update set
      run_at = case when j.lease_until is null then least(j.run_at, excluded.run_at) else j.run_at end,
      again_at = case when j.lease_until is not null then least(j.again_at, excluded.run_at) end;
  end if;

  if v_some_due then
    for v_due in
      select v.campaign_id, c.reservation_id,
        count(*) filter (where v.ledger in ('capture', 'capture+refund')) as capture,
        count(*) filter (where v.ledger = 'release') as release,
        count(*) filter (where v.ledger in ('refund', 'capture+refund')) as refund
      from unnest(v_moved) v
      join chat_campaigns c on c.account_id = p_account_id and c.id = v.campaign_id
      where v.ledger <> ''
      group by v.campaign_id, c.reservation_id
      order by v.campaign_id
    loop
      perform settle_credits(p_account_id, v_due.reservation_id, v_due.capture, v_due.release, v_due.refund, p_now);
    end loop;
  end if;

  return query select * from unnest(v_moved);
end $$;
