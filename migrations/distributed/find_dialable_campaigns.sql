-- As the function of this name on PostgreSQL. Citus refuses a look-up for each row of unnest(), so this finds the open
-- campaigns of all accounts, and then looks up what is due of many at once: a statement for each campaign takes longer than
-- a poll may.
create or replace function find_dialable_campaigns(
  p_trunk_ids bigint[], p_now timestamptz, p_after_place bigint, p_after_account_id bigint, p_limit int
) returns table (
  account_id bigint, place bigint, campaign_id bigint, trunk_id bigint, is_test boolean, due_time_zones text[],
  time_zone text, night_calling boolean, calling_from time, calling_to time
)
language plpgsql stable as $$
declare
  -- Campaigns whose due recipients are looked up by one statement.
  c_at_once constant int := 1000;
  v record;
  v_open json[] := '{}';
  v_account_ids bigint[] := '{}';
  v_campaign_ids bigint[] := '{}';
  v_from int := 1;
  v_to int;
  v_due jsonb;
  v_found int := 0;
begin
  for v in
    select c.account_id, c.id, c.trunk_id, c.is_test,
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
    v_open := v_open || row_to_json(v);
    v_account_ids := v_account_ids || v.account_id;
    v_campaign_ids := v_campaign_ids || v.id;
  end loop;

  while v_from <= cardinality(v_open) loop
    v_to := v_from + c_at_once - 1;
    -- By account, too: an imported campaign may have the ID of another account's.
    select jsonb_object_agg(d.account_id || ':' || d.id, d.zones) into v_due
    from (
      select c.account_id, c.id, array_agg(c.zones) as zones
      from (
        select o.account_id, o.id, unnest(o.time_zones) as zones from voice_campaigns o
        where o.account_id = any (v_account_ids[v_from:v_to]) and o.id = any (v_campaign_ids[v_from:v_to])) c
      -- Reads one index entry for each list of time zones and priority.
      where coalesce(
        (select true from voice_recipients r where r.account_id = c.account_id and r.campaign_id = c.id
          and r.state = 'waiting' and r.time_zones = c.zones and r.priority = 0 and r.due_at <= p_now limit 1),
        (select true from voice_recipients r where r.account_id = c.account_id and r.campaign_id = c.id
          and r.state = 'waiting' and r.time_zones = c.zones and r.priority = 1 and r.due_at <= p_now limit 1),
        (select true from voice_recipients r where r.account_id = c.account_id and r.campaign_id = c.id
          and r.state = 'waiting' and r.time_zones = c.zones and r.priority = 2 and r.due_at <= p_now limit 1))
      group by c.account_id, c.id) d;
    for v in
      select o.* from unnest(v_open[v_from:v_to]) with ordinality e (open, n)
      cross join json_to_record(e.open) o (account_id bigint, nth bigint, id bigint, trunk_id bigint, is_test boolean,
        time_zone text, night_calling boolean, calling_from time, calling_to time)
      where v_due ? (o.account_id || ':' || o.id)
      order by e.n
    loop
      account_id := v.account_id;
      place := v.nth;
      campaign_id := v.id;
      trunk_id := v.trunk_id;
      is_test := v.is_test;
      due_time_zones := array(select jsonb_array_elements_text(v_due -> (v.account_id || ':' || v.id)));
      time_zone := v.time_zone;
      night_calling := v.night_calling;
      calling_from := v.calling_from;
      calling_to := v.calling_to;
      return next;
      v_found := v_found + 1;
      if v_found = p_limit then return; end if;
    end loop;
    v_from := v_to + 1;
  end loop;
end
$$;
