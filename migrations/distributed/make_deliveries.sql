-- As the function of this name on PostgreSQL. Citus refuses a look-up for each event of a batch in one statement, so the
-- endpoints and campaigns are read by statements of their own, and joined to the events without tables. A statement for
-- each event would take longer than a statement may: 1,000 of them took 10 s on a busy machine.
create or replace function make_deliveries(
  p_account_id bigint, p_event_ids bigint[], p_endpoint_id bigint, p_again text[], p_now timestamptz
) returns int
language plpgsql as $$
declare
  v_events json;
  v_tested bigint[];
  v_campaign_ids bigint[];
  v_campaigns json;
  v_clicks json;
  v_own json;
  v_urls text[];
  v_by_campaign json;
  v_endpoint_ids bigint[];
  v_ids bigint[];
  v_types text[];
  v_seqs bigint[];
  v_call_ids bigint[];
  v_methods text[];
  v_made bigint[];
  v_woken bigint[];
  v_again int := 0;
begin
  -- A parameter that a condition does not need is not known to the node: so one query for each case.
  if p_endpoint_id is null then
    perform from callback_endpoints c where c.account_id = p_account_id and c.enabled limit 1;
  else
    perform from callback_endpoints c where c.account_id = p_account_id and c.enabled and c.id = p_endpoint_id;
  end if;
  if not found then
    return 0;
  end if;
  select json_agg(json_build_object('id', e.id, 'seq', e.seq, 'type', e.type,
      'call_id', case when e.type like 'call.%' then read_id(e.data, 'call_id') end,
      'campaign_id', case when e.type like 'call.%' then read_id(e.data, 'campaign_id') end,
      'endpoint_id', case when e.type = 'callback.test' then read_id(e.data, 'endpoint_id') end)),
    array_agg(distinct case when e.type like 'call.%' then read_id(e.data, 'campaign_id') end),
    array_agg(distinct case when e.type = 'callback.test' then read_id(e.data, 'endpoint_id') end)
  into v_events, v_campaign_ids, v_tested from events e
  where e.account_id = p_account_id and e.id = any (p_event_ids);
  select json_agg(json_build_object('id', c.id, 'url', c.url, 'types', c.types, 'enabled', c.enabled))
  into v_own from callback_endpoints c
  where c.account_id = p_account_id and c.kind = 'account' and c.deleted_at is null;
  v_tested := array_remove(v_tested, null);
  if cardinality(v_tested) > 0 then
    select array_agg(c.id) into v_tested from callback_endpoints c
    where c.account_id = p_account_id and c.enabled and c.id = any (v_tested);
  end if;
  v_campaign_ids := array_remove(v_campaign_ids, null);
  if cardinality(v_campaign_ids) > 0 then
    select json_agg(json_build_object('id', v.id, 'url', v.callback_url)), array_agg(distinct v.callback_url)
    into v_campaigns, v_urls from voice_campaigns v
    where v.account_id = p_account_id and v.id = any (v_campaign_ids) and v.callback_url is not null;
    select json_agg(json_build_object('id', k.campaign_id, 'method', k.callback_method))
    into v_clicks from click_to_calls k
    where k.account_id = p_account_id and k.campaign_id = any (v_campaign_ids);
    select json_agg(json_build_object('id', c.id, 'url', c.url)) into v_by_campaign from callback_endpoints c
    where c.account_id = p_account_id and c.kind = 'campaign' and c.deleted_at is null and c.enabled
      and c.url = any (v_urls);
  end if;

  with batch as materialized (
    select * from json_to_recordset(v_events)
      e (id bigint, seq bigint, type text, call_id bigint, campaign_id bigint, endpoint_id bigint)
  ), own as materialized (
    select * from json_to_recordset(v_own) o (id bigint, url text, types text[], enabled boolean)
  ), meant as (
    select b.id as event_id, o.id as endpoint_id from batch b
    join own o on o.enabled and b.type <> 'callback.test' and (o.types is null or b.type = any (o.types))
    union all
    select b.id, c.id from batch b
    join json_to_recordset(v_campaigns) v (id bigint, url text) on v.id = b.campaign_id
    join json_to_recordset(v_by_campaign) c (id bigint, url text) on c.url = v.url
    -- An event is delivered once to each URL, and not while the account's endpoint there is disabled.
    where not exists (select from own o where o.url = c.url and (o.types is null or b.type = any (o.types)))
    union all
    select b.id, b.endpoint_id from batch b
    where b.endpoint_id = any (v_tested)
  )
  select array_agg(m.endpoint_id order by b.seq, m.endpoint_id), array_agg(b.id order by b.seq, m.endpoint_id),
    array_agg(b.type order by b.seq, m.endpoint_id), array_agg(b.seq order by b.seq, m.endpoint_id),
    array_agg(b.call_id order by b.seq, m.endpoint_id),
    array_agg(coalesce(k.method, 'POST') order by b.seq, m.endpoint_id)
  into v_endpoint_ids, v_ids, v_types, v_seqs, v_call_ids, v_methods
  from meant m
  join batch b on b.id = m.event_id
  left join json_to_recordset(v_clicks) k (id bigint, method text) on k.id = b.campaign_id
  where p_endpoint_id is null or m.endpoint_id = p_endpoint_id;
  if v_ids is null then
    return 0;
  end if;

  with made as (
    insert into callback_deliveries
      (account_id, endpoint_id, event_id, type, seq, call_id, method, due_at, created_at)
    select p_account_id, m.endpoint_id, m.event_id, m.type, m.seq, m.call_id, m.method, p_now, p_now
    from unnest(v_endpoint_ids, v_ids, v_types, v_seqs, v_call_ids, v_methods) with ordinality
      m (endpoint_id, event_id, type, seq, call_id, method, place)
    order by m.place
    on conflict (account_id, endpoint_id, event_id) do nothing
    returning endpoint_id, event_id
  )
  select array_agg(m.event_id), array_agg(distinct m.endpoint_id) into v_made, v_woken from made m;
  v_made := coalesce(v_made, '{}');
  -- Not in the conflict clause: Citus loses its parameters after a query.
  if cardinality(p_again) > 0 then
    update callback_deliveries d set state = 'pending', finished_at = null,
      attempts = case when d.state = 'pending' then d.attempts else 0 end,
      due_at = case when d.state = 'pending' and d.due_at < p_now then d.due_at else p_now end
    where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id and d.event_id = any (v_ids)
      and d.event_id <> all (v_made) and d.state = any (p_again);
    get diagnostics v_again = row_count;
    if v_again > 0 then
      v_woken := array[p_endpoint_id];
    end if;
  end if;

  if v_woken is not null then
    perform from callback_endpoints c
      where c.account_id = p_account_id and c.id = any (v_woken) order by c.id for no key update;
    update callback_endpoints c set work_at = case when c.work_at < p_now then c.work_at else p_now end
      where c.account_id = p_account_id and c.id = any (v_woken);
  end if;
  return cardinality(v_made) + v_again;
end
$$;
