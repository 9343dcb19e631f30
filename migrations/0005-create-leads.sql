-- A batch of leads of one account in one autocommit call: contacts, leads, timeline and events.
--
-- The caller has judged each row against its copy of the workspace's schema; the row carries that
-- copy's version, and a row whose version is no longer the workspace's comes back as 'retry'.
-- One verdict per row, in the rows' order: created | not-found | retry | INVALID_AGENT | INVALID_CONTACT.
--
-- Two statements, for two reasons. Read committed gives each its own snapshot, so the second sees
-- the contacts that another process committed while the first waited for them. And the contacts
-- go in sorted, so that two batches which share phones never wait for each other in a circle.

create type lead_input as (
  ordinal int,
  workspace_id bigint,
  schema_version bigint,
  name text,
  email text,
  phone text,
  phone_e164 text,
  assigned_agent_id bigint,
  contact_id bigint,
  status_id bigint,
  source_id bigint,
  priority_id bigint,
  custom_fields jsonb,
  created_by bigint
);

create function create_leads(p_account_id bigint, p_leads json, p_now timestamptz)
returns table (
  ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_leads lead_input[];
begin
  select array_agg(l) into v_leads from json_populate_recordset(null::lead_input, p_leads) l;

  -- Held to the commit: deleting a picklist option waits for it (FOR UPDATE), nothing else does.
  perform from workspaces w
    where w.account_id = p_account_id
      and w.id in (select l.workspace_id from unnest(v_leads) l)
    order by w.id
    for key share;

  insert into contacts as c
    (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
  select distinct on (l.workspace_id, l.phone)
    p_account_id, l.workspace_id, l.phone, l.phone_e164, l.name, p_now, p_now
  from unnest(v_leads) l
  join workspaces w on w.account_id = p_account_id and w.id = l.workspace_id
    and w.active and w.schema_version = l.schema_version
  where l.contact_id is null
    and (l.assigned_agent_id is null or exists (
      select from users u
      where u.account_id = p_account_id and u.id = l.assigned_agent_id and u.active))
  order by l.workspace_id, l.phone, l.ordinal
  on conflict (account_id, workspace_id, phone) do nothing;

  return query
  with judged as materialized (
    select l.*, c.id as found_id, c.name as found_name, c.phone as found_phone,
      case
        when w.id is null or not w.active then 'not-found'
        when w.schema_version <> l.schema_version then 'retry'
        when l.assigned_agent_id is not null and u.id is null then 'INVALID_AGENT'
        when c.id is null then case when l.contact_id is null then 'retry' else 'INVALID_CONTACT' end
        else 'created'
      end as verdict
    from unnest(v_leads) l
    left join workspaces w on w.account_id = p_account_id and w.id = l.workspace_id
    left join users u on u.account_id = p_account_id and u.id = l.assigned_agent_id and u.active
    left join lateral (
      select c.id, c.name, c.phone from contacts c
      where l.contact_id is null and c.account_id = p_account_id
        and c.workspace_id = l.workspace_id and c.phone = l.phone
      union all
      select c.id, c.name, c.phone from contacts c
      where c.account_id = p_account_id and c.id = l.contact_id and c.workspace_id = l.workspace_id
    ) c on true
  ), numbered as materialized (
    select j.*, nextval('leads_id_seq') as new_id
    from judged j where j.verdict = 'created'
  ), created as (
    insert into leads
      (account_id, id, workspace_id, contact_id, name, email, phone, phone_e164, assigned_agent_id,
       status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at)
    select p_account_id, n.new_id, n.workspace_id, n.found_id, n.name, n.email, n.phone, n.phone_e164,
      n.assigned_agent_id, n.status_id, n.source_id, n.priority_id, n.custom_fields, n.created_by,
      p_now, p_now
    from numbered n
  ), noted as (
    insert into lead_timeline (account_id, lead_id, kind, at, user_id, data)
    select p_account_id, n.new_id, 'created', p_now, n.created_by, '{}' from numbered n
  ), told as (
    insert into events (account_id, type, occurred_at, data)
    select p_account_id, 'lead.created', p_now, json_build_object(
      'id', n.new_id, 'workspaceId', n.workspace_id, 'contactId', n.found_id, 'name', n.name,
      'email', n.email, 'phone', n.phone, 'assignedAgentId', n.assigned_agent_id,
      'statusId', n.status_id, 'sourceId', n.source_id, 'priorityId', n.priority_id,
      'customFields', n.custom_fields, 'createdBy', n.created_by)
    from numbered n
  )
  select j.ordinal, j.verdict, n.new_id, j.found_id, j.found_name, j.found_phone
  from judged j left join numbered n on n.ordinal = j.ordinal;
end
$$;
