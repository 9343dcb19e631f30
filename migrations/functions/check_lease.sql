-- Locks the lease until the caller's transaction ends, so that nobody takes it over in between.
-- A holder that has lost it fails with TL001, and with it everything it was about to write.
-- FOR KEY SHARE lets the holder's own renewals through: under FOR SHARE, transactions that overlapped
-- without a gap kept a renewal waiting until the lease had run out. It may lock a version of the row
-- that is past, so the lease is looked at again once it is locked.
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
