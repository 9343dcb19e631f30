-- Like check_lease, for a job: locks it until the transaction ends and fails with TL001 if the claim is lost.
create or replace function check_job(p_account_id bigint, p_id bigint, p_fence bigint) returns void
language plpgsql as $$
begin
  perform from jobs j where j.account_id = p_account_id and j.id = p_id for key share;
  perform from jobs j
    where j.account_id = p_account_id and j.id = p_id and j.fence = p_fence
      and j.lease_until > clock_timestamp();
  if not found then
    raise exception 'the job % of account % is lost', p_id, p_account_id using errcode = 'TL001';
  end if;
end $$;
