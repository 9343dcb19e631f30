-- Claims due calls for a trunk of the node and returns them with their blockers. A suppressed agent's phone
-- blocks a call like a suppressed customer's. Counts the legs of calls without a blocker: the agent's, unless a
-- group chooses the agent, and the customer's. The commit does not wait for the disk: nothing is dialed before a
-- later write, which does wait, marks the leg as dialing.
create or replace function claim_calls(
  p_account_id bigint, p_node_id bigint, p_trunk_id bigint, p_fence bigint, p_take int, p_now timestamptz
) returns table (call jsonb, suppressed boolean, customer_taken boolean, customer_limited boolean, cap text)
language plpgsql as $$
declare
  v_id bigint;
  v_token_id bigint;
  v_phones text[];
  v_calls_a_day int;
begin
  perform set_config('synchronous_commit', 'off', true);
  if exists (select from accounts a where a.account_id = p_account_id and a.frozen_at is not null) then
    return;
  end if;
  for v_id in
    with next as materialized (
      select c.id from calls c
      where c.node_id = p_node_id and c.account_id = p_account_id and c.trunk_id = p_trunk_id
        and c.stage = 'queued' and c.due_at <= p_now and c.fence <= p_fence
      order by c.due_at, c.id limit p_take
      for update skip locked
    ), claimed as (
      update calls c set stage = 'agent', fence = p_fence, pulse_seconds = (
        select a.call_pulse_seconds from accounts a where a.account_id = p_account_id)
      from next where c.account_id = p_account_id and c.id = next.id
      returning c.id, phone_key(c.to_phone) as phone_key
    )
    -- Leaders of other nodes take customers too: one order for all, to avoid deadlocks.
    select d.id from claimed d order by d.phone_key, d.id
  loop
    if v_phones is null then
      -- Serializes the account's claims, so that concurrent calls cannot exceed a cap together.
      perform count_legs(p_account_id, null, '{}', 0, p_now);
      select a.calls_per_customer_day into v_calls_a_day from accounts a where a.account_id = p_account_id;
    end if;
    select array[c.to_phone] || case when length(c.from_number) > 6 and p.from_group_id is null then c.from_number end,
      m.token_id into v_phones, v_token_id
    from calls c
    join call_campaigns m on m.account_id = p_account_id and m.id = c.campaign_id
    left join click_to_calls p on p.account_id = p_account_id and p.campaign_id = c.campaign_id
    where c.account_id = p_account_id and c.id = v_id;
    v_phones := array_remove(v_phones, null);
    suppressed := exists (
      select from suppressions s join calls c on c.account_id = p_account_id and c.id = v_id
      where s.account_id = p_account_id and s.person_key in (phone_key(c.to_phone), phone_key(c.from_number))
        and s.channel in ('all', 'voice')
        and (s.expires_at is null or s.expires_at > p_now));
    customer_taken := false;
    customer_limited := false;
    cap := null;
    if not suppressed then
      insert into live_customers (account_id, phone_key, call_id) values (p_account_id, phone_key(v_phones[1]), v_id)
        on conflict do nothing;
      customer_taken := not found;
      customer_limited := coalesce(customer_attempts(p_account_id, v_phones[1], p_now) >= v_calls_a_day, false);
    end if;
    if not (suppressed or customer_taken or customer_limited) then
      cap := call_cap(p_account_id, v_token_id, v_phones, p_now);
      if cap is null then
        perform count_legs(p_account_id, v_token_id, v_phones, 0, p_now);
      end if;
    end if;
    call := call_state(p_account_id, v_id);
    return next;
  end loop;
end $$;
