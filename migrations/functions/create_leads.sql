-- Creates a batch of an account's leads with contacts, timeline and events, in one autocommit call. Returns
-- one verdict for each row, in order: created | not-found | retry | INVALID_AGENT | INVALID_CONTACT. The
-- caller has validated each row against a copy of the workspace's schema; `retry` means that the
-- schema_version has changed.
--
-- Contacts are created by a statement of their own: in read committed, the next one then sees contacts that
-- another process committed meanwhile. They are sorted, so that batches that share phones do not deadlock.
--
-- Planned once for each connection: planning took as long as the work (one lead: 730 us, 340 with a generic
-- plan; 32 leads: 77 us each, and 68). Sequential scans are off because the plan may have been made for small
-- tables.
create or replace function create_leads(p_account_id bigint, p_leads json, p_now timestamptz)
returns table (
  ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_leads lead_input[];
  v_workspace_ids bigint[];
begin
  select array_agg(l), array_agg(distinct l.workspace_id) into v_leads, v_workspace_ids
  from json_populate_recordset(null::lead_input, p_leads) l;

  -- Locked until the commit; only the deletion of a picklist option waits for it (FOR UPDATE).
  perform from workspaces w
    where w.account_id = p_account_id and w.id = any (v_workspace_ids)
    order by w.id
    for key share;

  -- When leads share a new phone, the first one names the contact.
  insert into contacts
    (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
  select p_account_id, l.workspace_id, l.phone, l.phone_e164, l.name, p_now, p_now
  from unnest(v_leads) l
  where l.contact_id is null
    and exists (
      select from workspaces w
      where w.account_id = p_account_id and w.id = l.workspace_id
        and w.active and w.schema_version = l.schema_version)
    and (l.assigned_agent_id is null or exists (
      select from users u
      where u.account_id = p_account_id and u.id = l.assigned_agent_id and u.active))
  order by l.workspace_id, l.phone, l.ordinal
  on conflict (account_id, workspace_id, phone) do nothing;

  return query
  with checked as (
    select l.*, c.id as found_id, c.name as found_name, c.phone as found_phone,
      case
        when w.id is null or not w.active then 'not-found'
        when w.schema_version <> l.schema_version then 'retry'
        when l.assigned_agent_id is not null and not exists (
          select from users u
          where u.account_id = p_account_id and u.id = l.assigned_agent_id and u.active
        ) then 'INVALID_AGENT'
        when c.id is null then case when l.contact_id is null then 'retry' else 'INVALID_CONTACT' end
        else 'created'
      end as verdict
    from unnest(v_leads) l
    left join lateral (
      select w.id, w.active, w.schema_version from workspaces w
      where w.account_id = p_account_id and w.id = l.workspace_id
    ) w on true
    left join lateral (
      select c.id, c.name, c.phone from contacts c
      where l.contact_id is null and c.account_id = p_account_id
        and c.workspace_id = l.workspace_id and c.phone = l.phone
      union all
      -- In the where clause, the workspace let the planner choose an index without the id.
      select case when c.workspace_id = l.workspace_id then c.id end, c.name, c.phone from contacts c
      where l.contact_id is not null and c.account_id = p_account_id and c.id = l.contact_id
    ) c on true
  ), numbered as materialized (
    select j.*, case when j.verdict = 'created' then nextval('leads_id_seq') end as new_id
    -- Ids follow the order of the rows, whatever order the joins return.
    from (select * from checked order by ordinal) j
  ), created as (
    insert into leads
      (account_id, id, workspace_id, contact_id, name, email, phone, phone_e164, assigned_agent_id,
       status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at)
    select p_account_id, n.new_id, n.workspace_id, n.found_id, n.name, n.email, n.phone, n.phone_e164,
      n.assigned_agent_id, n.status_id, n.source_id, n.priority_id, n.custom_fields, n.created_by,
      p_now, p_now
    from numbered n where n.new_id is not null
  ), inserted_timeline as (
    insert into lead_timeline (account_id, lead_id, kind, at, user_id, data)
    select p_account_id, n.new_id, 'created', p_now, n.created_by, '{}'
    from numbered n where n.new_id is not null
  ), inserted_events as (
    insert into events (account_id, type, occurred_at, data)
    select p_account_id, 'lead.created', p_now, json_build_object(
      'id', n.new_id, 'workspaceId', n.workspace_id, 'contactId', n.found_id, 'name', n.name,
      'email', n.email, 'phone', n.phone, 'assignedAgentId', n.assigned_agent_id,
      'statusId', n.status_id, 'sourceId', n.source_id, 'priorityId', n.priority_id,
      'customFields', n.custom_fields, 'createdBy', n.created_by)
    from numbered n where n.new_id is not null
  )
  select n.ordinal, n.verdict, n.new_id, n.found_id, n.found_name, n.found_phone from numbered n;
end
$$;
