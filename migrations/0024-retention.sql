-- How long what happened is kept, and what is erased of a person who asks for it.

alter table accounts
  -- Days; null keeps for ever.
  add column retention_messages_days int check (retention_messages_days between 1 and 3650),
  add column retention_calls_days int check (retention_calls_days between 1 and 3650),
  add column retention_recordings_days int check (retention_recordings_days between 1 and 3650),
  -- The outbox must not grow for ever unless somebody wants it to.
  add column retention_events_days int default 30 check (retention_events_days between 1 and 3650),
  -- When somebody should look again for rows, and for recordings, that have been kept long enough.
  add column retention_due_at timestamptz not null default 'epoch',
  add column recordings_due_at timestamptz not null default 'epoch';
create index accounts_by_retention on accounts (retention_due_at, account_id);
create index accounts_by_recordings on accounts (recordings_due_at, account_id);

alter table chat_campaigns
  -- Since when its recipients and their replies are going; replies were so many.
  add column purged_at timestamptz,
  add column purged_replies int not null default 0,
  -- Recipients up to this id are gone: a cursor past the dead index entries.
  add column purged_to bigint not null default 0,
  -- Nothing of them is left.
  add column purged boolean not null default false;
create index chat_campaigns_kept on chat_campaigns (account_id, finished_at, id)
  where finished_at is not null and not purged;
create index chat_replies_to_nothing on chat_replies (account_id, received_at) where campaign_id is null;

-- The same of a voice campaign's recipients and rejects.
alter table voice_campaigns
  add column purged_at timestamptz,
  add column purged_to int not null default 0,
  add column purged boolean not null default false;
create index voice_campaigns_kept on voice_campaigns (account_id, finished_at, id)
  where finished_at is not null and not purged;

-- recording_state may also be `deleted`, and so may a message's state. A call goes after its recording; of one
-- that failed there may be a part.
create index calls_kept on calls (account_id, ended_at, id)
  where stage = 'ended' and recording_state not in ('ready', 'failed');
create index calls_recorded on calls (account_id, ended_at, id) where recording_state in ('ready', 'failed');
create index call_messages_recorded on call_messages (account_id, at, call_id) where state <> 'deleted';

-- None of these sorts where an index has the order: of a table that was not analysed yet, each step would
-- read all that is left of the account.

-- Takes the oldest events, with what was to be told of them, in their order. At most p_rows_max rows go,
-- an event's deliveries and attempts together with it; one without its place in the order stays. `more`:
-- there may be others. Locked in the order of make_deliveries and callback_turn: events, endpoints, deliveries.
create function forget_events(
  p_account_id bigint, p_before timestamptz, p_rows_max int, out forgotten int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_ids bigint[];
begin
  with oldest as materialized (
    select e.id, e.seq, e.occurred_at from events e
    where e.account_id = p_account_id and e.seq is not null
    order by e.seq limit p_rows_max
  ), weighed as (
    select o.id, row_number() over w as place, sum(1 + d.rows) over w as rows
    from oldest o
    cross join lateral (
      select count(*) + coalesce(sum(d.attempts), 0) as rows from callback_deliveries d
      where d.account_id = p_account_id and d.event_id = o.id) d
    where o.occurred_at < p_before
    window w as (order by o.seq)
  )
  select coalesce(array_agg(w.id order by w.id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    count(*) = p_rows_max or coalesce(bool_or(w.place > 1 and w.rows > p_rows_max), false)
  into v_ids, more from weighed w;
  forgotten := cardinality(v_ids);
  if forgotten = 0 then return; end if;

  perform from events e where e.account_id = p_account_id and e.id = any (v_ids) order by e.id for update;
  perform from callback_endpoints c
    where c.account_id = p_account_id and c.id in (
      select d.endpoint_id from callback_deliveries d
      where d.account_id = p_account_id and d.event_id = any (v_ids))
    order by c.id for no key update;
  delete from callback_deliveries d where d.account_id = p_account_id and d.event_id = any (v_ids);
  delete from events e where e.account_id = p_account_id and e.id = any (v_ids);
end $$;

-- Whether nothing is kept of what a voice campaigns' endpoint was told, nor needs it any more.
create function is_unused_endpoint(p_account_id bigint, p_endpoint_id bigint, p_url text, p_before timestamptz)
returns boolean
language sql stable as $$
  select not exists (
      select from callback_deliveries d where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id)
    and not exists (
      select from voice_campaigns v
      where v.account_id = p_account_id and v.callback_url = p_url and octet_length(v.callback_url) <= 2048
        and (v.finished_at is null or v.finished_at >= p_before))
$$;

-- Deletes endpoints that launches made, at most p_rows_max, once what happened on their campaigns' calls has
-- gone. One that somebody has adopted stays: its receiver knows its secret.
create function forget_endpoints(
  p_account_id bigint, p_before timestamptz, p_rows_max int, p_now timestamptz,
  out forgotten int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids bigint[];
begin
  -- A launch that relies on one holds it: either it is not found here, or its campaign is seen below.
  v_ids := array(
    select c.id from callback_endpoints c
    where c.account_id = p_account_id and c.kind = 'campaign' and c.deleted_at is null and not c.adopted
      and c.created_at < p_before and is_unused_endpoint(p_account_id, c.id, c.url, p_before)
    order by c.id limit p_rows_max
    for update skip locked);
  with gone as (
    update callback_endpoints c set deleted_at = p_now, enabled = false, work_at = null, updated_at = p_now
    where c.account_id = p_account_id and c.id = any (v_ids)
      and is_unused_endpoint(p_account_id, c.id, c.url, p_before)
    returning c.id
  )
  insert into jobs (account_id, kind, subject, run_at, created_at)
  select p_account_id, 'callbacks.clear_endpoint', g.id::text, p_now, p_now from gone g;
  get diagnostics forgotten = row_count;
  more := cardinality(v_ids) = p_rows_max;
end $$;

-- Takes recipients and replies of chat campaigns that finished before, campaign by campaign, and replies
-- to nothing we know of: at most p_rows_max rows. What the campaigns counted stays.
create function forget_messages(
  p_account_id bigint, p_before timestamptz, p_rows_max int, p_now timestamptz,
  out forgotten int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_campaign chat_campaigns;
  v_ids bigint[];
  v_replies bigint[];
begin
  forgotten := 0;
  more := true;
  while forgotten < p_rows_max loop
    select * into v_campaign from chat_campaigns c
      where c.account_id = p_account_id and c.finished_at < p_before and not c.purged
      order by c.finished_at, c.id limit 1
      for no key update;
    if not found then
      more := false;
      exit;
    end if;
    v_replies := '{}';
    -- Locked in the order in which late reports lock them.
    v_ids := array(
      select r.id from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id > v_campaign.purged_to
      order by r.id limit p_rows_max - forgotten
      for update);
    delete from chat_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id = any (v_ids);
    forgotten := forgotten + cardinality(v_ids);
    if forgotten < p_rows_max then
      v_replies := array(
        select r.id from chat_replies r
        where r.account_id = p_account_id and r.campaign_id = v_campaign.id
        order by r.id limit p_rows_max - forgotten);
      delete from chat_replies r where r.account_id = p_account_id and r.id = any (v_replies);
      forgotten := forgotten + cardinality(v_replies);
    end if;
    update chat_campaigns c set purged_at = coalesce(c.purged_at, p_now),
        purged_to = coalesce(v_ids[cardinality(v_ids)], c.purged_to),
        purged_replies = c.purged_replies + cardinality(v_replies),
        purged = forgotten < p_rows_max
      where c.account_id = p_account_id and c.id = v_campaign.id;
  end loop;
  if more then return; end if;

  v_replies := array(
    select r.id from chat_replies r
    where r.account_id = p_account_id and r.campaign_id is null and r.received_at < p_before
    order by r.received_at limit p_rows_max - forgotten);
  delete from chat_replies r where r.account_id = p_account_id and r.id = any (v_replies);
  forgotten := forgotten + cardinality(v_replies);
  more := forgotten = p_rows_max;
end $$;

-- Takes recipients and rejects of voice campaigns that finished before, at most p_rows_max rows.
create function forget_voice_recipients(
  p_account_id bigint, p_before timestamptz, p_rows_max int, p_now timestamptz,
  out forgotten int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_campaign voice_campaigns;
  v_ids int[];
  v_rows int[];
begin
  forgotten := 0;
  more := true;
  while forgotten < p_rows_max loop
    select * into v_campaign from voice_campaigns v
      where v.account_id = p_account_id and v.finished_at < p_before and not v.purged
      order by v.finished_at, v.id limit 1
      for no key update;
    if not found then
      more := false;
      exit;
    end if;
    v_ids := array(
      select r.id from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id > v_campaign.purged_to
      order by r.id limit p_rows_max - forgotten
      for update);
    delete from voice_recipients r
      where r.account_id = p_account_id and r.campaign_id = v_campaign.id and r.id = any (v_ids);
    forgotten := forgotten + cardinality(v_ids);
    if forgotten < p_rows_max then
      v_rows := array(
        select j.row from voice_rejects j
        where j.account_id = p_account_id and j.campaign_id = v_campaign.id
        order by j.row limit p_rows_max - forgotten);
      delete from voice_rejects j
        where j.account_id = p_account_id and j.campaign_id = v_campaign.id and j.row = any (v_rows);
      forgotten := forgotten + cardinality(v_rows);
    end if;
    update voice_campaigns v set purged_at = coalesce(v.purged_at, p_now),
        purged_to = coalesce(v_ids[cardinality(v_ids)], v.purged_to),
        purged = forgotten < p_rows_max
      where v.account_id = p_account_id and v.id = v_campaign.id;
  end loop;
end $$;

-- Takes calls that ended before, with everything told of them, once their recordings are gone: at most
-- p_rows_max rows. A click-to-call's attempts go when the last of them may, and with them what was asked for.
create function forget_calls(
  p_account_id bigint, p_before timestamptz, p_rows_max int, out forgotten int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
as $$
declare
  v_ids bigint[];
  v_campaigns bigint[];
  v_found int;
  -- A call comes with some ten rows.
  v_calls_max int := greatest(p_rows_max / 10, 1);
begin
  with oldest as materialized (
    select c.id, c.campaign_id, c.ended_at from calls c
    where c.account_id = p_account_id and c.stage = 'ended' and c.recording_state not in ('ready', 'failed')
      and c.ended_at < p_before
      and not exists (
        select from call_messages m
        where m.account_id = p_account_id and m.call_id = c.id and m.state <> 'deleted')
      and (c.recipient_id is not null or not exists (
        select from calls o
        where o.account_id = p_account_id and o.campaign_id = c.campaign_id
          and (o.ended_at is null or o.ended_at >= p_before or o.recording_state in ('ready', 'failed'))))
    order by c.ended_at, c.id limit v_calls_max
  ), weighed as (
    select o.id, o.campaign_id, row_number() over w as place, sum(
      (select 3 + count(*) from call_legs l where l.account_id = p_account_id and l.call_id = o.id)
      + (select count(*) from call_events e where e.account_id = p_account_id and e.call_id = o.id)
      + (select count(*) from call_menu_steps s where s.account_id = p_account_id and s.call_id = o.id)
      + (select count(*) from call_transcripts t where t.account_id = p_account_id and t.call_id = o.id)
      + (select count(*) from call_messages m where m.account_id = p_account_id and m.call_id = o.id)
    ) over w as rows
    from oldest o
    window w as (order by o.ended_at, o.id)
  )
  select coalesce(array_agg(w.id order by w.id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    coalesce(array_agg(distinct w.campaign_id) filter (where w.place = 1 or w.rows <= p_rows_max), '{}'),
    count(*)
  into v_ids, v_campaigns, v_found from weighed w;
  forgotten := cardinality(v_ids);
  more := v_found = v_calls_max or v_found > forgotten;
  if forgotten = 0 then return; end if;

  -- The CRM may be writing down what one came to.
  perform from calls c where c.account_id = p_account_id and c.id = any (v_ids) order by c.id for update;
  delete from jobs j
    where j.account_id = p_account_id and j.kind = 'crm.record_call'
      and j.subject = any (array(select 'call:' || i from unnest(v_ids) i)) and j.lease_until is null;
  delete from call_legs l where l.account_id = p_account_id and l.call_id = any (v_ids);
  delete from call_events e where e.account_id = p_account_id and e.call_id = any (v_ids);
  delete from call_menu_steps s where s.account_id = p_account_id and s.call_id = any (v_ids);
  delete from call_transcripts t where t.account_id = p_account_id and t.call_id = any (v_ids);
  delete from call_messages m where m.account_id = p_account_id and m.call_id = any (v_ids);
  delete from call_commands k where k.account_id = p_account_id and k.call_id = any (v_ids);
  delete from calls c where c.account_id = p_account_id and c.id = any (v_ids);

  -- Whoever asks for another attempt holds the campaign, and finds no call to repeat.
  v_campaigns := array(
    select m.id from call_campaigns m
    where m.account_id = p_account_id and m.id = any (v_campaigns) and m.kind = 'click_to_call'
      and not exists (
        select from calls c where c.account_id = p_account_id and c.campaign_id = m.id)
    order by m.id for update);
  delete from click_to_calls p where p.account_id = p_account_id and p.campaign_id = any (v_campaigns);
  delete from call_campaigns m where m.account_id = p_account_id and m.id = any (v_campaigns);
end $$;

-- A step of what the account's setting asks for, in one autocommit call. The account's row is held
-- meanwhile, so that one process at a time has an account: nothing at all when it is another's.
create function apply_retention(
  p_account_id bigint, p_setting text, p_rows_max int, p_now timestamptz
) returns table (forgotten int, more boolean)
language plpgsql as $$
declare
  v_account accounts;
  v_days int;
  v_before timestamptz;
begin
  select * into v_account from accounts a
    where a.account_id = p_account_id and a.retention_due_at <= p_now
    for no key update skip locked;
  if not found then return; end if;
  v_days := case
    when p_setting in ('events', 'endpoints') then v_account.retention_events_days
    when p_setting = 'messages' then v_account.retention_messages_days
    else v_account.retention_calls_days end;
  v_before := p_now - v_days * interval '24 hours';
  if v_days is null then
    return query select 0, false;
  elsif p_setting = 'events' then
    return query select * from forget_events(p_account_id, v_before, p_rows_max);
  elsif p_setting = 'endpoints' then
    return query select * from forget_endpoints(p_account_id, v_before, p_rows_max, p_now);
  elsif p_setting = 'messages' then
    return query select * from forget_messages(p_account_id, v_before, p_rows_max, p_now);
  elsif p_setting = 'voice_recipients' then
    return query select * from forget_voice_recipients(p_account_id, v_before, p_rows_max, p_now);
  else
    return query select * from forget_calls(p_account_id, v_before, p_rows_max);
  end if;
end $$;

-- What is erased of a person, on request.
create table erasures (
  account_id bigint not null,
  id bigint generated by default as identity,
  -- E.164 digits without the plus; null once it is done.
  phone text,
  -- All but the last two digits hidden.
  phone_shown text not null,
  state text not null default 'pending' check (state in ('pending', 'done')),
  -- What was erased, by kind.
  counts jsonb not null default '{}',
  -- How far it is (retention/erase-person.ts); null once it is done.
  progress jsonb,
  requested_by bigint,
  requested_at timestamptz not null,
  finished_at timestamptz,
  primary key (account_id, id),
  check ((state = 'done') = (finished_at is not null and phone is null and progress is null))
);

-- What is told of a person, without the person: numbers and times stay, and words that are ours; every
-- other text is emptied.
create function erase_news(p_data json) returns json
language sql immutable as $$
  select coalesce(json_object_agg(d.key, case
    when json_typeof(d.value) in ('number', 'boolean', 'null') then d.value
    when json_typeof(d.value) = 'array' then '[]'::json
    when json_typeof(d.value) = 'object' then '{}'::json
    when d.key like '%\_at' or d.key in ('type', 'status', 'leg', 'by', 'disposition', 'ended_reason',
      'ended_by', 'answered_by', 'reason', 'error', 'state', 'channel', 'from_number', 'agent_number') then d.value
    else '""'::json end order by d.place), '{}')
  from json_each(p_data) with ordinality d (key, value, place)
$$;

-- Empties a call that is over of everything about the person who was called, but for its recordings, which
-- are at its node. What it cost, how long it was and how it ended stay, as numbers without anybody.
create function erase_call(p_account_id bigint, p_call_id bigint) returns void
language plpgsql as $$
declare
  v_campaign_id bigint;
begin
  update calls c set to_number = '', to_phone = '', dtmf = '', collected = '{}', lead_fields = '{}',
      position = null, lead_id = null
    where c.account_id = p_account_id and c.id = p_call_id
    returning c.campaign_id into v_campaign_id;
  update call_legs l set number = ''
    where l.account_id = p_account_id and l.call_id = p_call_id and l.role = 'customer';
  update call_events e set data = erase_news(e.data)
    where e.account_id = p_account_id and e.call_id = p_call_id;
  -- Still a key that was pressed, in the campaign's sums.
  update call_menu_steps s set key = 'erased'
    where s.account_id = p_account_id and s.call_id = p_call_id and s.key not in ('timeout', 'invalid');
  delete from call_transcripts t where t.account_id = p_account_id and t.call_id = p_call_id;
  delete from call_messages m
    where m.account_id = p_account_id and m.call_id = p_call_id and m.state = 'deleted';
  update click_to_calls p set to_number = '', to_phone = '', remark = null, reference = null, source = null
    where p.account_id = p_account_id and p.campaign_id = v_campaign_id;
end $$;
