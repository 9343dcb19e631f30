-- Purges one batch of what the account's setting no longer keeps, in one autocommit call. Locks the account's
-- row, so that one process at a time works on an account; returns no row while another process has it.
create or replace function apply_retention(
  p_account_id bigint, p_setting text, p_rows_max int, p_now timestamptz
) returns table (purged int, more boolean)
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
  if p_setting = 'call_usage' then
    -- Hours that no cap counts any more.
    return query with purged as (
      delete from call_usage u where u.account_id = p_account_id and u.ctid = any (array(
        select o.ctid from call_usage o
        where o.account_id = p_account_id and o.hour < p_now - interval '25 hours'
        order by o.hour limit p_rows_max))
      returning 1)
    select count(*)::int, count(*) = p_rows_max from purged;
    return;
  end if;
  if p_setting = 'sessions' then
    -- Invitations and sign-in links, which last three days, count while the session that made them is known.
    return query select * from purge_sessions(p_account_id, p_now - interval '7 days', p_rows_max);
    return;
  end if;
  if p_setting = 'invitations' then
    -- Meanwhile the console shows that they have expired.
    return query select * from purge_invitations(p_account_id, p_now - interval '30 days', p_rows_max);
    return;
  end if;
  if p_setting = 'sign_in_links' then
    return query select * from purge_sign_in_links(p_account_id, p_now, p_rows_max);
    return;
  end if;
  v_days := case
    when p_setting in ('events', 'endpoints') then v_account.retention_events_days
    when p_setting = 'messages' then v_account.retention_messages_days
    when p_setting = 'idempotency_keys' then v_account.retention_idempotency_keys_days
    when p_setting = 'audit' then v_account.retention_audit_days
    when p_setting = 'ledger' then v_account.retention_ledger_days
    else v_account.retention_calls_days end;
  v_before := p_now - v_days * interval '24 hours';
  if v_days is null then
    return query select 0, false;
  elsif p_setting = 'events' then
    return query select * from purge_events(p_account_id, v_before, p_rows_max);
  elsif p_setting = 'endpoints' then
    return query select * from purge_endpoints(p_account_id, v_before, p_rows_max, p_now);
  elsif p_setting = 'messages' then
    return query select * from purge_messages(p_account_id, v_before, p_rows_max, p_now);
  elsif p_setting = 'idempotency_keys' then
    return query select * from purge_idempotency_keys(p_account_id, v_before, p_rows_max);
  elsif p_setting = 'audit' then
    return query select * from purge_audit_entries(p_account_id, v_before, p_rows_max);
  elsif p_setting = 'ledger' then
    return query select * from fold_ledger(p_account_id, v_before, v_account.time_zone, p_rows_max, p_now);
  elsif p_setting = 'voice_recipients' then
    return query select * from purge_voice_recipients(p_account_id, v_before, p_rows_max, p_now);
  else
    return query select * from purge_calls(p_account_id, v_before, p_rows_max);
  end if;
end $$;
