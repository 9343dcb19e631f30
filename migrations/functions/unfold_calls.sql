-- Deletes the folded days of reports that contain the calls, because the calls are about to change or to be deleted. The
-- lock on the account keeps the days from being folded until the caller's transaction ends; take it before locks on
-- calls.
create or replace function unfold_calls(p_account_id bigint, p_call_ids bigint[]) returns void
language plpgsql as $$
declare
  v_id bigint;
  v_days timestamptz[] := '{}';
begin
  perform from accounts a where a.account_id = p_account_id for no key update;
  foreach v_id in array p_call_ids loop
    v_days := v_days || (
      select max(p.begins_at) from call_report_days p
      where p.account_id = p_account_id and p.begins_at <= (
        select c.queued_at from calls c where c.account_id = p_account_id and c.id = v_id));
  end loop;
  delete from call_report_days d where d.account_id = p_account_id and d.begins_at = any (v_days);
  if found then
    update accounts a set report_due_at = 'epoch' where a.account_id = p_account_id;
  end if;
end $$;
