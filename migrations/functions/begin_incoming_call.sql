-- Stores an incoming call, with the caller's leg ringing, and returns its state; the stored call of the channel if a
-- previous leader, or an earlier report of the channel, has stored it. Null if the trunk was deleted, whose deletion
-- otherwise waits for this call. The caller is not called meanwhile.
-- p_phone: E.164 digits; empty if the caller's number is withheld.
create or replace function begin_incoming_call(
  p_account_id bigint, p_node_id bigint, p_trunk_id bigint, p_fence bigint, p_called text, p_phone text,
  p_channel text, p_content jsonb, p_now timestamptz
) returns jsonb
language plpgsql as $$
declare
  v_id bigint;
  v_campaign_id bigint;
  v_number text := p_phone;
  v_data json;
begin
  select c.id into v_id from calls c
    where c.node_id = p_node_id and c.account_id = p_account_id and c.stage not in ('queued', 'ended')
      and c.incoming ->> 'channel' = p_channel;
  if found then return call_state(p_account_id, v_id); end if;
  perform from trunks t where t.id = p_trunk_id for key share;
  if not found then return null; end if;

  -- As ten digits where the customer's number is one of the account's country, as in outgoing calls.
  select right(p_phone, 10) into v_number from accounts a
    where a.account_id = p_account_id and p_phone = a.country_code || right(p_phone, 10);
  v_number := coalesce(v_number, p_phone);
  insert into call_campaigns (account_id, kind, created_by, created_at)
    values (p_account_id, 'incoming', 0, p_now) returning id into v_campaign_id;
  insert into calls (account_id, campaign_id, attempt, node_id, trunk_id, fence, stage, status, direction, from_number,
      to_number, to_phone, due_at, queued_at, initiated_at, ringing_at, seen_at, incoming)
    values (p_account_id, v_campaign_id, 1, p_node_id, p_trunk_id, p_fence, 'customer', 'ringing', 'inbound', p_called,
      v_number, p_phone, p_now, p_now, p_now, p_now, p_now,
      json_build_object('channel', p_channel, 'content', p_content))
    returning id into v_id;
  insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at, ringing_at)
    values (p_account_id, v_id, 1, 'customer', p_phone, true, 'ringing', 'ringing', p_now, p_now);
  -- Takes the customer over from a call that is dialing them: this one is answered, and lasts longer.
  if p_phone <> '' then
    insert into live_customers (account_id, phone_key, call_id) values (p_account_id, phone_key(p_phone), v_id)
      on conflict (account_id, phone_key) do update set call_id = excluded.call_id;
  end if;
  v_data := json_build_object('call_id', v_id, 'campaign_id', v_campaign_id, 'reference', null, 'attempt', 1,
    'from_number', p_called, 'to_number', v_number, 'status', 'ringing');
  insert into call_events (account_id, call_id, type, at, data) values (p_account_id, v_id, 'call.incoming', p_now, v_data);
  insert into events (account_id, type, occurred_at, data) values (p_account_id, 'call.incoming', p_now, v_data);
  return call_state(p_account_id, v_id);
end $$;
