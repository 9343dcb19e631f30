-- As check_lease, for the worker that runs a job: its claim's number and its time still hold.
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
