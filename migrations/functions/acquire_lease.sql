-- Acquires the lease if it is free or expired and returns the new fencing token, else null. Never waits:
-- while a holder's transaction has the row locked, it keeps the lease, even past its expiry. A new row's tokens
-- begin at the time in milliseconds, above those of a row that was deleted (database-upkeep.ts). A frozen account's leases
-- are not given out. Counts the acquisition of a lease that its holder had not released as a takeover.
create or replace function acquire_lease(
  p_account_id bigint, p_name text, p_holder uuid, p_lease_ms int
) returns bigint
language plpgsql as $$
declare
  v_fence bigint;
  v_now timestamptz;
begin
  if exists (select from accounts a where a.account_id = p_account_id and a.frozen_at is not null) then
    return null;
  end if;
  insert into leases (account_id, name, fence, expires_at)
    values (p_account_id, p_name, floor(extract(epoch from clock_timestamp()) * 1000), clock_timestamp())
    on conflict do nothing;
  select l.fence + 1 into v_fence from leases l
    where l.account_id = p_account_id and l.name = p_name
      and (l.holder is null or l.expires_at <= clock_timestamp())
    for update skip locked;
  if not found then
    return null;
  end if;
  v_now := clock_timestamp();
  update leases l
    set fence = v_fence, holder = p_holder, expires_at = v_now + p_lease_ms * interval '1 ms',
      takeovers = l.takeovers + (l.holder is not null)::int
    where l.account_id = p_account_id and l.name = p_name;
  return v_fence;
end $$;
