-- Claims due recipients of a voice campaign on this trunk, which the node has, in these time zones: creates a call for each, its leg marked as
-- dialing, and reserves one credit. Promised callbacks and their retries come first; then retries and first calls
-- alternate, so that retries do not wait behind the whole list. Suppressed recipients are skipped for good, whatever
-- the suppression's scope, because calls have no category; so are those at the account's limit of calls a day, unless
-- the call is a callback that they asked for. Customers on a live call wait; so do all while the account or the token
-- is at its cap, and for an hour those whose phone is at its cap. Claims on other nodes at the same moment are not
-- counted yet. Without credit it claims none, and holds the campaign once the account has no campaign call in
-- progress, because those usually release credit. The leg is dialed right after the commit, so the commit waits for the
-- disk.
create or replace function claim_due_recipients(
  p_account_id bigint, p_campaign_id bigint, p_trunk_id bigint, p_node_id bigint, p_fence bigint, p_take int,
  p_caller_id text, p_time_zones text[], p_now timestamptz
) returns table (call jsonb)
language plpgsql as $$
declare
  -- Recipients looked at in a round besides those to take, and rounds while there are some to skip, so that many to
  -- skip do not delay the others. A claim ends soon nevertheless: it has the campaign locked.
  c_more constant int := 20;
  c_rounds constant int := 20;
  v_campaign voice_campaigns;
  v_calls_a_day int;
  v_ids int[];
  v_phones text[];
  v_is_callback boolean[];
  v_is_suppressed boolean[];
  v_counted boolean[];
  v_batch_suppressed int[];
  v_batch_limited int[];
  v_suppressed int[] := '{}';
  v_limited int[] := '{}';
  v_free int[] := '{}';
  v_busy int[];
  v_available bigint;
  v_token_id bigint;
  v_capped int[];
  v_call_ids bigint[];
begin
  if exists (select from accounts a where a.account_id = p_account_id and a.frozen_at is not null) then
    return;
  end if;
  -- Pausing, cancelling and changing the trunk lock the campaign too. A statement that waits for the lock does not see a hold that was set
  -- meanwhile.
  select * into v_campaign from voice_campaigns v
    where v.account_id = p_account_id and v.id = p_campaign_id and v.state = 'running'
      and v.trunk_id = p_trunk_id
    for share;
  if not found or exists (
    select from voice_holds h where h.account_id = p_account_id and h.campaign_id = p_campaign_id) then
    return;
  end if;
  -- The deletion of the trunk waits for these calls, and finds them.
  perform from trunks t where t.id = p_trunk_id for key share;
  if not found then
    return;
  end if;
  v_campaign.caller_id := coalesce(v_campaign.caller_id, (
    select default_caller_id(p_account_id, row(t.*)::trunks) from trunks t where t.id = v_campaign.trunk_id), p_caller_id);
  if v_campaign.caller_id <> '0' then
    select trunk_spelling(row(t.*)::trunks, v_campaign.caller_id) into v_campaign.caller_id from trunks t
      where t.id = v_campaign.trunk_id and allows_caller_id(p_account_id, row(t.*)::trunks, v_campaign.caller_id);
    -- The caller ID was assigned to another account meanwhile: a worker pauses the campaign.
    if not found then
      return;
    end if;
  end if;
  select m.token_id into v_token_id from call_campaigns m
    where m.account_id = p_account_id and m.id = p_campaign_id;
  p_take := least(p_take, call_room(p_account_id, 'account', p_now),
    call_room(p_account_id, 'token:' || v_token_id, p_now));
  if p_take <= 0 then return; end if;
  select a.calls_per_customer_day into v_calls_a_day from accounts a
    where a.account_id = p_account_id and not v_campaign.is_test;

  for v_round in 1 .. c_rounds loop
    -- More candidates than are locked, because leaders of other nodes may have locked the first.
    with candidates as materialized (
      select c.*, row_number() over (partition by c.priority order by c.due_at, c.id) as place
      from unnest(p_time_zones) z (time_zones)
      cross join (values (0), (1), (2)) k (priority)
      cross join lateral (
        select r.id, r.priority, r.due_at from voice_recipients r
        where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.state = 'waiting'
          and r.time_zones = z.time_zones and r.priority = k.priority and r.due_at <= p_now
          and r.id <> all (v_free)
        order by r.due_at, r.id limit 4 * (p_take + c_more)) c
    ), ordered as materialized (
      select c.id from candidates c order by c.priority > 0, c.place, c.priority
    ), next as materialized (
      select r.* from ordered o
      cross join lateral (
        select r.id, r.phone, r.callbacks > r.callbacks_placed as is_callback from voice_recipients r
        where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = o.id
          and r.state = 'waiting' and r.due_at <= p_now
        for update skip locked) r
      limit p_take - cardinality(v_free) + c_more
    ), checked as (
      select row_number() over () as place, n.id, n.phone, n.is_callback, exists (
          select from suppressions s
          where s.account_id = p_account_id and s.person_key = phone_key(n.phone) and s.channel in ('all', 'voice')
            and (s.expires_at is null or s.expires_at > p_now)) as suppressed,
        exists (
          select from call_usage u
          where u.account_id = p_account_id and u.subject = 'number:' || phone_key(n.phone)) as counted
      from next n
    )
    select array_agg(j.id order by j.place), array_agg(j.phone order by j.place),
      array_agg(j.is_callback order by j.place), array_agg(j.suppressed order by j.place),
      array_agg(j.counted order by j.place)
    into v_ids, v_phones, v_is_callback, v_is_suppressed, v_counted from checked j;

    v_batch_suppressed := '{}';
    v_batch_limited := '{}';
    v_capped := '{}';
    -- Not within the query: on Citus, a function called for its rows cannot read other rows of the account.
    for v_i in 1 .. coalesce(cardinality(v_ids), 0) loop
      if v_is_suppressed[v_i] then
        v_batch_suppressed := v_batch_suppressed || v_ids[v_i];
      elsif not v_is_callback[v_i] and v_calls_a_day is not null
        and customer_attempts(p_account_id, v_phones[v_i], p_now) >= v_calls_a_day then
        v_batch_limited := v_batch_limited || v_ids[v_i];
      elsif v_counted[v_i] and call_room(p_account_id, 'number:' || phone_key(v_phones[v_i]), p_now) < 1 then
        v_capped := v_capped || v_ids[v_i];
      elsif cardinality(v_free) < p_take then
        v_free := v_free || v_ids[v_i];
      end if;
    end loop;

    update voice_recipients r set finished_at = p_now,
        state = case when r.id = any (v_batch_suppressed) then 'suppressed' else 'skipped' end,
        skip_reason = case when r.id = any (v_batch_limited) then 'calls_per_customer_day' end
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id
        and r.id = any (v_batch_suppressed || v_batch_limited);
    update voice_recipients r set due_at = p_now + interval '1 hour'
      where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_capped);
    v_suppressed := v_suppressed || v_batch_suppressed;
    v_limited := v_limited || v_batch_limited;
    exit when cardinality(v_free) = p_take or cardinality(v_batch_suppressed || v_batch_limited || v_capped) = 0;
  end loop;

  -- Leaders of other nodes take customers too: one order for all, to avoid deadlocks.
  with free as materialized (
    select array_position(v_free, r.id) as place, r.id, phone_key(r.phone) as phone_key,
      nextval(pg_get_serial_sequence('calls', 'id')) as call_id
    from voice_recipients r
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_free)
  ), taken as (
    insert into live_customers (account_id, phone_key, call_id)
    select p_account_id, f.phone_key, f.call_id from free f order by f.phone_key, f.place
    on conflict do nothing returning live_customers.call_id
  )
  select coalesce(array_agg(f.id order by f.place) filter (where t.call_id is null), '{}'),
    coalesce(array_agg(f.id order by f.place) filter (where t.call_id is not null), '{}'),
    coalesce(array_agg(f.call_id order by f.place) filter (where t.call_id is not null), '{}')
  into v_busy, v_free, v_call_ids
  from free f left join taken t on t.call_id = f.call_id;

  update voice_recipients r set due_at = p_now + interval '1 minute'
    where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_busy);

  if cardinality(v_free) > 0 then
    select b.available into v_available from credit_balances b
      where b.account_id = p_account_id and b.kind = 'call' for update;
    v_available := least(coalesce(v_available, 0), cardinality(v_free));
    delete from live_customers l
      where l.account_id = p_account_id and l.call_id = any (v_call_ids[v_available + 1:]);
    v_free := v_free[1:v_available];
    v_call_ids := v_call_ids[1:v_available];
    if v_available = 0 then
      if not exists (
        select from voice_recipients r where r.account_id = p_account_id and r.state = 'calling') then
        insert into voice_holds (account_id, campaign_id, reason, set_at)
          values (p_account_id, p_campaign_id, 'credit', p_now)
          on conflict do nothing;
        if found then
          insert into events (account_id, type, occurred_at, data) values (p_account_id,
            'voice.campaign.paused', p_now, json_build_object('campaign_id', p_campaign_id,
              'id', v_campaign.public_id, 'name', v_campaign.name, 'paused_reason', 'credit', 'detail', null));
        end if;
      end if;
    else
      perform draw_credits(p_account_id, 'call', cardinality(v_free), p_now);
      -- In a slot of its own, which only holders of the balance's lock write.
      perform count_legs(p_account_id, v_token_id, array(
        select r.phone from voice_recipients r
        where r.account_id = p_account_id and r.campaign_id = p_campaign_id and r.id = any (v_free)), 5, p_now);
      perform place_recipients(v_campaign, v_free, v_call_ids, p_node_id, p_fence, p_caller_id, p_now);
    end if;
  end if;

  if cardinality(v_suppressed) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'suppressed', cardinality(v_suppressed));
  end if;
  if cardinality(v_limited) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'skipped', cardinality(v_limited));
  end if;
  if cardinality(v_call_ids) > 0 then
    perform count_voice(p_account_id, p_campaign_id, 0, 'waiting', 'calling', cardinality(v_call_ids),
      cardinality(v_call_ids));
  end if;
  return query select call_state(p_account_id, i) from unnest(v_call_ids) i;
end $$;
