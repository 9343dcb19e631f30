-- As the function of this name on PostgreSQL. Citus refuses a look-up for each event of a batch in one statement, so the
-- endpoints of each are read, and its deliveries inserted, by statements of their own.
create or replace function make_deliveries(
  p_account_id bigint, p_event_ids bigint[], p_endpoint_id bigint, p_again text[], p_now timestamptz
) returns int
language plpgsql as $$
declare
  v_event record;
  v_campaign_id bigint;
  v_call_id bigint;
  v_url text;
  v_method text;
  v_found bigint[];
  v_made int := 0;
  v_id bigint;
  v_woken bigint[] := '{}';
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
  for v_event in
    select e.id, e.seq, e.type, e.data from events e
    where e.account_id = p_account_id and e.id = any (p_event_ids) order by e.seq
  loop
    v_url := null;
    v_method := null;
    v_call_id := null;
    v_campaign_id := null;
    if v_event.type like 'call.%' then
      v_call_id := read_id(v_event.data, 'call_id');
      v_campaign_id := read_id(v_event.data, 'campaign_id');
    end if;
    if v_campaign_id is not null then
      select v.callback_url into v_url from voice_campaigns v
        where v.account_id = p_account_id and v.id = v_campaign_id;
      select k.callback_method into v_method from click_to_calls k
        where k.account_id = p_account_id and k.campaign_id = v_campaign_id;
    end if;
    if v_event.type = 'callback.test' then
      v_found := array[read_id(v_event.data, 'endpoint_id')];
      v_found := array(
        select c.id from callback_endpoints c
        where c.account_id = p_account_id and c.enabled and c.id = any (v_found));
    else
      v_found := array(
        select c.id from callback_endpoints c
        where c.account_id = p_account_id and c.kind = 'account' and c.enabled
          and (c.types is null or v_event.type = any (c.types)));
    end if;
    if v_url is not null then
      v_found := v_found || array(
        select c.id from callback_endpoints c
        where c.account_id = p_account_id and c.kind = 'campaign' and c.deleted_at is null and c.enabled
          and c.url = v_url
          -- An event is delivered once to each URL, and not while the account's endpoint there is disabled.
          and not exists (
            select from callback_endpoints o
            where o.account_id = p_account_id and o.kind = 'account' and o.deleted_at is null
              and o.url = c.url and (o.types is null or v_event.type = any (o.types))));
    end if;
    foreach v_id in array v_found loop
      continue when p_endpoint_id is not null and v_id <> p_endpoint_id;
      -- By values: Citus loses parameters of the conflict clause after a query.
      insert into callback_deliveries as d
        (account_id, endpoint_id, event_id, type, seq, call_id, method, due_at, created_at)
      values (p_account_id, v_id, v_event.id, v_event.type, v_event.seq, v_call_id, coalesce(v_method, 'POST'),
        p_now, p_now)
      on conflict (account_id, endpoint_id, event_id) do update set state = 'pending',
        attempts = case when d.state = 'pending' then d.attempts else 0 end,
        due_at = case when d.state = 'pending' then least(d.due_at, excluded.due_at) else excluded.due_at end,
        finished_at = null
      where d.state = any (p_again);
      continue when not found;
      v_made := v_made + 1;
      if v_id <> all (v_woken) then
        v_woken := v_woken || v_id;
      end if;
    end loop;
  end loop;

  if v_made > 0 then
    perform from callback_endpoints c
      where c.account_id = p_account_id and c.id = any (v_woken) order by c.id for no key update;
    update callback_endpoints c set work_at = case when c.work_at < p_now then c.work_at else p_now end
      where c.account_id = p_account_id and c.id = any (v_woken);
  end if;
  return v_made;
end
$$;
