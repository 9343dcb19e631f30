-- Locks the lease until the transaction ends, so that no other process takes it over, and fails with TL001 if
-- the caller no longer holds it. FOR KEY SHARE does not block renewals; with FOR SHARE, overlapping
-- transactions delayed a renewal until the lease expired. The lock may be on an outdated version of the row,
-- so the lease is checked after it is locked.
create or replace function check_lease(p_account_id bigint, p_name text, p_fence bigint) returns void
language plpgsql as $$
begin
  perform from leases l where l.account_id = p_account_id and l.name = p_name for key share;
  perform from leases l
    where l.account_id = p_account_id and l.name = p_name and l.fence = p_fence
      and l.holder is not null and l.expires_at > clock_timestamp();
  if not found then
    raise exception 'the lease % of account % is lost', p_name, p_account_id using errcode = 'TL001';
  end if;
end $$;
