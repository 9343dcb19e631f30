-- Schedules the job chat.skip_duplicates for campaigns that list a person who is tried again under another address, too: the
-- process that moved the recipients skips it, but may end before. The caller has locked the campaigns, so no other
-- transaction has a job's row and waits for the balance. Only for such people, because the job reads a whole campaign; an
-- address that was skipped or refused got no message (skip-second-addresses.ts).
--
-- Others cost three index look-ups each. In a loop, because a join of the moves depends on statistics.
create or replace function schedule_skip_duplicates(p_account_id bigint, p_moved chat_moved[], p_now timestamptz)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_campaigns bigint[] := '{}';
  v_one record;
  v_person_key text;
  v_without_message constant text[] := '{refused,undelivered,skipped,cancelled}';
begin
  for v_one in select m.campaign_id, m.id from unnest(p_moved) m where m.to_state = 'deferred' loop
    continue when v_one.campaign_id = any (v_campaigns);
    select coalesce(phone_key(r.phone), (
      select b.phone_key from person_bsuids b where b.account_id = p_account_id and b.bsuid = r.bsuid))
    into v_person_key from chat_recipients r
    where r.account_id = p_account_id and r.campaign_id = v_one.campaign_id and r.id = v_one.id;
    perform from person_bsuids b
      -- By the index of user IDs: the one of a campaign has all of its user IDs.
      cross join lateral (
        select r.campaign_id, r.id, r.state from chat_recipients r
        where r.account_id = p_account_id and r.bsuid = b.bsuid offset 0) r
      where b.account_id = p_account_id and b.phone_key = v_person_key
        and r.campaign_id = v_one.campaign_id and r.id <> v_one.id and not r.state = any (v_without_message)
      limit 1;
    if not found then
      perform from chat_recipients r
        where r.account_id = p_account_id and r.campaign_id = v_one.campaign_id
          and r.phone = any (phone_spellings(v_person_key)) and r.id <> v_one.id
          and not r.state = any (v_without_message)
        limit 1;
    end if;
    if found then v_campaigns := v_campaigns || v_one.campaign_id; end if;
  end loop;
  -- add-job.ts explains the conflict clause.
  insert into jobs as j (account_id, kind, subject, run_at, created_at)
  select p_account_id, 'chat.skip_duplicates', c.id::text, p_now, p_now
  from unnest(v_campaigns) c (id)
  order by c.id
  on conflict (account_id, kind, subject) do update set
    run_at = case when j.lease_until is null then least(j.run_at, excluded.run_at) else j.run_at end,
    again_at = case when j.lease_until is not null then least(j.again_at, excluded.run_at) end;
end $$;
