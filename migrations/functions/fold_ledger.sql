-- Folds one batch of the ledger: the transfers of reservations that ended before p_before become one entry for each kind,
-- type and day of the account, so that its balance and the sums of each day stay exact. A campaign's reservation keeps its
-- sums, because the campaign shows them and may reopen it; others are deleted. Grants are kept. The caller holds the lock
-- on the account, so that no other batch changes the same entries.
create or replace function fold_ledger(
  p_account_id bigint, p_before timestamptz, p_time_zone text, p_rows_max int, p_now timestamptz,
  out purged int, out more boolean
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_reservation credit_reservations;
  v_ids bigint[];
  v_is_last boolean;
  v_day record;
begin
  purged := 0;
  more := true;
  while purged < p_rows_max loop
    select * into v_reservation from credit_reservations r
      where r.account_id = p_account_id and r.closed_at is not null and r.closed_at < p_before and r.folded_at is null
      order by r.closed_at, r.id limit 1
      for no key update;
    if not found then
      more := false;
      exit;
    end if;
    v_ids := array(
      select t.id from credit_transfers t
      where t.account_id = p_account_id and t.reservation_id = v_reservation.id
      order by t.type, t.at, t.id limit p_rows_max - purged);
    v_is_last := cardinality(v_ids) < p_rows_max - purged;
    purged := purged + cardinality(v_ids);

    for v_day in
      with deleted as (
        delete from credit_transfers t where t.account_id = p_account_id and t.id = any (v_ids)
        returning t.type, t.from_ledger_account, t.to_ledger_account, t.amount, t.at
      )
      select d.type, d.from_ledger_account, d.to_ledger_account, date_trunc('day', d.at, p_time_zone) as begins_at,
        sum(d.amount)::bigint as amount
      from deleted d group by 1, 2, 3, 4
    loop
      update credit_transfers t set amount = t.amount + v_day.amount
        where t.account_id = p_account_id and t.kind = v_reservation.kind and t.type = v_day.type
          and t.at = v_day.begins_at and t.reservation_id is null;
      if not found then
        insert into credit_transfers (account_id, kind, type, from_ledger_account, to_ledger_account, amount, at)
        values (p_account_id, v_reservation.kind, v_day.type, v_day.from_ledger_account, v_day.to_ledger_account,
          v_day.amount, v_day.begins_at);
      end if;
      update credit_reservations r set
          folded_reserved = r.folded_reserved + case when v_day.type = 'reserve' then v_day.amount else 0 end,
          folded_captured = r.folded_captured + case when v_day.type = 'capture' then v_day.amount else 0 end,
          folded_released = r.folded_released + case when v_day.type = 'release' then v_day.amount else 0 end,
          folded_refunded = r.folded_refunded + case when v_day.type = 'refund' then v_day.amount else 0 end
        where r.account_id = p_account_id and r.id = v_reservation.id;
    end loop;

    if v_is_last and v_reservation.subject like 'chat\_campaign:%' then
      update credit_reservations r set folded_at = p_now
        where r.account_id = p_account_id and r.id = v_reservation.id;
    elsif v_is_last then
      delete from credit_reservations r where r.account_id = p_account_id and r.id = v_reservation.id;
    end if;
  end loop;
end $$;
