-- Corrects a campaign's counts in chat_report_counts by what they differ from its recipients and replies. One statement
-- reads the rows and the counts, which every change writes together, so the difference is right while messages are sent.
-- Of a campaign whose recipients were purged, the counts are kept as they are. If it has none, because it was purged
-- before there were such counts, all of it counts at its creation. The lock keeps it from being purged or counted
-- meanwhile.
create or replace function count_chat_campaign(p_account_id bigint, p_campaign_id bigint) returns void
language plpgsql as $$
declare
  v_campaign chat_campaigns;
begin
  select * into strict v_campaign from chat_campaigns c
    where c.account_id = p_account_id and c.id = p_campaign_id
    for no key update;
  if v_campaign.purged_at is not null and v_campaign.report_counted then return; end if;

  insert into chat_report_counts as n (account_id, campaign_id, chat_number_id, begins_at, slot,
    sent, delivered, read, failed, pending, credits, replies, opt_outs)
  select p_account_id, p_campaign_id, f.chat_number_id, f.begins_at, 'controls',
    sum(f.sent), sum(f.delivered), sum(f.read), sum(f.failed), sum(f.pending), sum(f.credits), sum(f.replies),
    sum(f.opt_outs)
  from (
    select v_campaign.chat_number_id,
      date_bin('15 minutes', coalesce(r.dispatched_at, r.accepted_at, r.ended_at), 'epoch') as begins_at,
      count(*) filter (where r.state in ('accepted', 'sent', 'delivered', 'read')) as sent,
      count(*) filter (where r.state in ('delivered', 'read')) as delivered,
      count(*) filter (where r.state = 'read') as read,
      count(*) filter (where r.state in ('refused', 'unresolved', 'undelivered', 'skipped', 'cancelled')) as failed,
      count(*) filter (where r.state in ('queued', 'deferred', 'dispatching', 'unknown')) as pending,
      count(*) filter (where r.charged) as credits, 0 as replies, 0 as opt_outs
    from chat_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and v_campaign.purged_at is null
      and coalesce(r.dispatched_at, r.accepted_at, r.ended_at) is not null
    group by 2
    union all
    select r.chat_number_id, date_bin('15 minutes', r.received_at, 'epoch'), 0, 0, 0, 0, 0, 0, count(*),
      count(*) filter (where r.opted_out)
    from chat_replies r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id
    group by 1, 2
    union all
    select v_campaign.chat_number_id, date_bin('15 minutes', v_campaign.created_at, 'epoch'),
      sum(c.accepted + c.sent + c.delivered + c.read), sum(c.delivered + c.read), sum(c.read),
      sum(c.refused + c.unresolved + c.undelivered + c.skipped + c.cancelled),
      sum(c.queued + c.deferred + c.dispatching + c.unknown), 0, v_campaign.purged_replies, 0
    from chat_counts c
    where c.account_id = p_account_id and c.campaign_id = p_campaign_id and v_campaign.purged_at is not null
    union all
    select v_campaign.chat_number_id, date_bin('15 minutes', v_campaign.created_at, 'epoch'), 0, 0, 0, 0, 0,
      sum(case when t.type = 'capture' then t.amount else -t.amount end), 0, 0
    from credit_transfers t
    where t.account_id = p_account_id and t.reservation_id = v_campaign.reservation_id
      and t.type in ('capture', 'refund') and v_campaign.purged_at is not null
    union all
    -- Of its folded transfers (fold_ledger), the reservation has the sums.
    select v_campaign.chat_number_id, date_bin('15 minutes', v_campaign.created_at, 'epoch'), 0, 0, 0, 0, 0,
      v.folded_captured - v.folded_refunded, 0, 0
    from credit_reservations v
    where v.account_id = p_account_id and v.id = v_campaign.reservation_id and v_campaign.purged_at is not null
    union all
    select s.chat_number_id, s.begins_at, -s.sent, -s.delivered, -s.read, -s.failed, -s.pending, -s.credits, -s.replies,
      -s.opt_outs
    from chat_report_counts s
    where s.account_id = p_account_id and s.campaign_id = p_campaign_id) f
  group by f.chat_number_id, f.begins_at
  having (sum(f.sent), sum(f.delivered), sum(f.read), sum(f.failed), sum(f.pending), sum(f.credits), sum(f.replies),
    sum(f.opt_outs)) <> (0, 0, 0, 0, 0, 0, 0, 0)
  order by f.chat_number_id, f.begins_at
  on conflict (account_id, campaign_id, begins_at, slot, chat_number_id) do update set
    sent = n.sent + excluded.sent, delivered = n.delivered + excluded.delivered, read = n.read + excluded.read,
    failed = n.failed + excluded.failed, pending = n.pending + excluded.pending,
    credits = n.credits + excluded.credits, replies = n.replies + excluded.replies,
    opt_outs = n.opt_outs + excluded.opt_outs;
  update chat_campaigns c set report_counted = true
    where c.account_id = p_account_id and c.id = p_campaign_id and not c.report_counted;
end $$;
