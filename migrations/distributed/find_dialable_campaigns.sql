-- As the function of this name on PostgreSQL. Citus refuses a look-up for each row of unnest(), so this finds the open
-- campaigns of all accounts, and then reads the account of each for what is due.
create or replace function find_dialable_campaigns(
  p_trunk_ids bigint[], p_now timestamptz, p_after_place bigint, p_after_account_id bigint, p_limit int
) returns table (
  account_id bigint, place bigint, campaign_id bigint, trunk_id bigint, is_test boolean, due_time_zones text[],
  time_zone text, night_calling boolean, calling_from time, calling_to time
)
language plpgsql stable as $$
declare
  v record;
  v_found int := 0;
  v_zones text;
begin
  for v in
    select c.account_id, c.id, c.trunk_id, c.is_test, c.time_zones as lists,
      a.time_zone, a.night_calling, a.calling_from, a.calling_to,
      row_number() over (partition by c.account_id order by c.is_test desc, c.id) as nth
    from voice_campaigns c
    join accounts a on a.account_id = c.account_id
    where c.trunk_id = any (p_trunk_ids) and c.state = 'running' and 'voice' = any (a.features) and a.frozen_at is null
      and not exists (
        select from voice_holds h where h.account_id = c.account_id and h.campaign_id = c.id)
    order by row_number() over (partition by c.account_id order by c.is_test desc, c.id), c.account_id
  loop
    continue when (v.nth, v.account_id) <= (p_after_place, p_after_account_id);
    due_time_zones := '{}';
    foreach v_zones in array v.lists loop
      if exists (
        select from voice_recipients r
        where r.account_id = v.account_id and r.campaign_id = v.id and r.state = 'waiting'
          and r.time_zones = v_zones and r.priority in (0, 1, 2) and r.due_at <= p_now) then
        due_time_zones := due_time_zones || v_zones;
      end if;
    end loop;
    continue when due_time_zones = '{}';
    account_id := v.account_id;
    place := v.nth;
    campaign_id := v.id;
    trunk_id := v.trunk_id;
    is_test := v.is_test;
    time_zone := v.time_zone;
    night_calling := v.night_calling;
    calling_from := v.calling_from;
    calling_to := v.calling_to;
    return next;
    v_found := v_found + 1;
    exit when v_found = p_limit;
  end loop;
end
$$;
