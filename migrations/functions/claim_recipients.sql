-- Claims due recipients of a voice campaign: creates a call for each, its leg marked as dialing, and reserves
-- one credit. Suppressed recipients are skipped for good, whatever the suppression's scope: calls have no category. Without credit it claims none, and holds the
-- campaign once the account has no campaign call in progress, because those usually release credit. The leg
-- is dialed right after the commit, so the commit waits for the disk.
create or replace function claim_recipients(
  p_account_id bigint, p_campaign_id bigint, p_node_id bigint, p_fence bigint, p_take int,
  p_caller_id text, p_now timestamptz
) returns table (call jsonb)
language plpgsql as $$
declare
  v_campaign voice_campaigns;
  v_suppressed int[];
  v_wanted int[];
  v_available bigint;
  v_call_ids bigint[];
begin
  -- Pausing and cancelling lock the campaign too.
  select * into v_campaign from voice_campaigns v
    where v.account_id = p_account_id and v.id = p_campaign_id and v.state = 'running'
      and not exists (
        select from voice_holds h where h.account_id = p_account_id and h.campaign_id = p_campaign_id)
    for share;
  if not found then return; end if;

  with next as materialized (
    select r.id, r.phone from voice_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.state = 'waiting'
      and r.due_at <= p_now
    order by r.due_at, r.id limit p_take
    for update skip locked
  ), checked as (
    select n.id, exists (
      select from suppressions s
      where s.account_id = p_account_id and s.person_key = phone_key(n.phone) and s.channel in ('all', 'voice')
        and (s.expires_at is null or s.expires_at > p_now)) as suppressed
    from next n
  )
  select coalesce(array_agg(j.id order by j.id) filter (where j.suppressed), '{}'),
    coalesce(array_agg(j.id order by j.id) filter (where not j.suppressed), '{}')
  into v_suppressed, v_wanted from checked j;

  update voice_recipients r set state = 'suppressed', finished_at = p_now
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_suppressed);

  if cardinality(v_wanted) > 0 then
    select b.available into v_available from credit_balances b
      where b.account_id = p_account_id and b.kind = 'call' for update;
    v_wanted := v_wanted[1:least(coalesce(v_available, 0), cardinality(v_wanted))];
    if cardinality(v_wanted) = 0 then
      insert into voice_holds (account_id, campaign_id, reason, set_at)
        select p_account_id, p_campaign_id, 'credit', p_now
        where not exists (
          select from voice_recipients r where r.account_id = p_account_id and r.state = 'calling')
        on conflict do nothing;
      if found then
        insert into events (account_id, type, occurred_at, data) values (p_account_id,
          'voice.campaign.paused', p_now, json_build_object('campaign_id', p_campaign_id,
            'id', v_campaign.public_id, 'name', v_campaign.name, 'paused_reason', 'credit', 'detail', null));
      end if;
    else
      perform draw_credits(p_account_id, 'call', cardinality(v_wanted), p_now);
      v_call_ids := place_recipients(v_campaign, v_wanted, p_node_id, p_fence, p_caller_id, p_now);
    end if;
  end if;

  if cardinality(v_suppressed) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'suppressed', cardinality(v_suppressed));
  end if;
  if cardinality(v_call_ids) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'calling', cardinality(v_call_ids),
      cardinality(v_call_ids));
  end if;
  return query select call_state(p_account_id, i) from unnest(v_call_ids) i;
end $$;
