-- Only versions before find_dialable_campaigns call it; a later release drops it.
-- Returns running campaigns with due recipients on the trunks, with the time zones that those recipients may be in
-- and their accounts' calling hours. Accounts alternate, so that one with a thousand campaigns does not hide the
-- others.
create or replace function find_dialable(p_trunk_ids bigint[], p_now timestamptz)
returns table (account_id bigint, campaign_id bigint, trunk_id bigint, is_test boolean, due_time_zones text[],
  time_zone text, night_calling boolean, calling_from time, calling_to time)
language sql stable as $$
  select v.account_id, v.id, v.trunk_id, v.is_test, due.time_zones,
    a.time_zone, a.night_calling, a.calling_from, a.calling_to
  from voice_campaigns v
  join accounts a on a.account_id = v.account_id
  -- Reads one index entry for each list of time zones and priority.
  cross join lateral (
    select array_agg(z.time_zones) as time_zones from unnest(v.time_zones) z (time_zones)
    where exists (
      select from (values (0), (1), (2)) k (priority)
      cross join lateral (
        select from voice_recipients r
        where r.account_id = v.account_id and r.campaign_id = v.id and r.state = 'waiting'
          and r.time_zones = z.time_zones and r.priority = k.priority and r.due_at <= p_now limit 1) r)) due
  where v.trunk_id = any (p_trunk_ids) and v.state = 'running' and 'voice' = any (a.features) and a.frozen_at is null
    and not exists (
      select from voice_holds h where h.account_id = v.account_id and h.campaign_id = v.id)
    and due.time_zones is not null
  order by row_number() over (partition by v.account_id order by v.is_test desc, v.id), v.account_id
  limit 1000
$$;
