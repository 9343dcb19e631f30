-- Records the results of an endpoint's delivery attempts and returns the next due deliveries except those in
-- p_busy, in one autocommit call under the endpoint's lease.
-- p_results: [{id, attempts, url, at, duration_ms, status, error, response, state, due_at}]; attempts is the
-- number made before, so that a result whose acknowledgement was lost is not recorded twice. A failure at a url that was
-- changed during the attempt is retried at once and does not count as a failure of the endpoint.
-- p_resume_at: nothing is sent to the endpoint before, unless its url was changed during the attempt that asked for it.
-- failing_since: the first failure since the last success while deliveries were pending; with the results that end the
-- last one, the stored time is reset and the returned one is that of the results.
--
-- Deliveries are not marked as taken: those of a killed process are sent again under the same webhook-id. The
-- first delivery about a call waits until all earlier ones about it were tried. A crash of the database may
-- lose the last results, which only repeats deliveries, so the commit does not wait for the disk.
--
-- While retry_now is set, each call makes up to 1,000 pending deliveries due and returns none, until all are due: one that
-- failed in between would be retried again at once.
create or replace function record_and_claim_deliveries(
  p_account_id bigint, p_endpoint_id bigint, p_fence bigint, p_results json, p_resume_at timestamptz,
  p_take int, p_busy bigint[], p_now timestamptz
) returns json
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_endpoint callback_endpoints;
  v_frozen boolean;
  v_result record;
  v_delivered boolean;
  v_failed boolean;
  v_ids bigint[];
  v_due json;
  v_next_at timestamptz;
  v_failing_since timestamptz;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform check_lease(p_account_id, 'callbacks:' || p_endpoint_id, p_fence);
  -- Locked before the look-ups below: see make_deliveries.
  select * into v_endpoint from callback_endpoints c
    where c.account_id = p_account_id and c.id = p_endpoint_id for no key update;
  if not found then
    return null;
  end if;
  v_frozen := exists (
    select from accounts a where a.account_id = p_account_id and a.frozen_at is not null);

  -- One look-up by key for each: on a table without statistics, one statement for all read every pending
  -- delivery (200 ms a call at 30,000). The case keeps it from using an index of pending deliveries.
  for v_result in
    select * from json_to_recordset(p_results) r (id bigint, attempts int, url text, at timestamptz, duration_ms int,
      status int, error text, response text, state text, due_at timestamptz)
    order by r.id
  loop
    if v_result.url <> v_endpoint.url and v_result.state <> 'delivered' then
      v_result.state := 'pending';
      v_result.due_at := p_now;
    end if;
    update callback_deliveries d set state = v_result.state, attempts = d.attempts + 1,
        due_at = coalesce(v_result.due_at, d.due_at),
        finished_at = case when v_result.state <> 'pending' then p_now end
      where d.account_id = p_account_id and d.id = v_result.id
        and case when d.state = 'pending' then d.attempts = v_result.attempts end;
    if found then
      insert into callback_attempts (account_id, delivery_id, at, duration_ms, status, error, response)
      values (p_account_id, v_result.id, v_result.at, v_result.duration_ms, v_result.status,
        v_result.error, v_result.response);
    end if;
  end loop;

  select coalesce(bool_or(r.state = 'delivered'), false), coalesce(bool_or(r.state <> 'delivered'), false)
    into v_delivered, v_failed
    from json_to_recordset(p_results) r (url text, state text)
    where coalesce(r.url = v_endpoint.url, true);
  v_endpoint.failing_since := case
    when v_delivered then null when v_failed then coalesce(v_endpoint.failing_since, p_now)
    else v_endpoint.failing_since end;
  -- A pause comes with the result of the attempt that asked for it.
  if v_delivered or v_failed then
    v_endpoint.resume_at := greatest(v_endpoint.resume_at, p_resume_at);
  end if;

  if v_endpoint.retry_now then
    v_ids := array(
      select d.id from callback_deliveries d
      where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id and d.state = 'pending'
        and d.due_at > p_now
      order by d.due_at limit 1000);
    update callback_deliveries d set due_at = p_now where d.account_id = p_account_id and d.id = any (v_ids);
    v_endpoint.retry_now := cardinality(v_ids) = 1000;
  end if;
  if v_endpoint.enabled and not v_frozen and not v_endpoint.retry_now and p_take > 0
    and coalesce(v_endpoint.resume_at <= p_now, true) then
    select json_agg(t) into v_due from (
      select d.id, d.event_id, d.seq, d.method, d.attempts, e.type, e.occurred_at, e.data
      from callback_deliveries d
      join events e on e.account_id = p_account_id and e.id = d.event_id
      where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id and d.state = 'pending'
        and d.due_at <= p_now and d.id <> all (p_busy)
        and (d.attempts > 0 or d.call_id is null or not exists (
          select from callback_deliveries b
          where b.account_id = p_account_id and b.endpoint_id = p_endpoint_id and b.state = 'pending'
            and b.attempts = 0 and b.call_id = d.call_id and b.seq < d.seq))
      order by d.due_at, d.seq limit p_take) t;
  end if;
  select d.due_at into v_next_at from callback_deliveries d
    where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id and d.state = 'pending'
    order by d.due_at limit 1;
  v_endpoint.work_at := greatest(v_next_at, v_endpoint.resume_at);
  v_failing_since := v_endpoint.failing_since;
  if v_next_at is null then
    v_endpoint.work_at := null;
    -- Nothing is tried until the next event, which may be days away.
    v_endpoint.failing_since := null;
  end if;
  update callback_endpoints c set failing_since = v_endpoint.failing_since,
      resume_at = v_endpoint.resume_at, work_at = v_endpoint.work_at, retry_now = v_endpoint.retry_now
    where c.account_id = p_account_id and c.id = p_endpoint_id
      and (c.failing_since, c.resume_at, c.work_at, c.retry_now) is distinct from
        (v_endpoint.failing_since, v_endpoint.resume_at, v_endpoint.work_at, v_endpoint.retry_now);
  -- A deliverer of a frozen account ends, as that of a disabled endpoint does.
  return json_build_object(
    'url', v_endpoint.url, 'enabled', v_endpoint.enabled and not v_frozen, 'failing_since', v_failing_since,
    'secrets', json_build_array(encode(v_endpoint.secret, 'base64'), case
      when v_endpoint.old_secret_until > p_now then encode(v_endpoint.old_secret, 'base64') end),
    'resume_at', v_endpoint.resume_at, 'work_at', v_endpoint.work_at, 'due', coalesce(v_due, '[]'));
end $$;
