-- create_leads on a distributed database: see ../functions/create_leads.sql. The node of the account does the work in one
-- call, with IDs of the coordinator's sequences: a node's own would be beyond 2^53.
create or replace function create_leads(p_account_id bigint, p_leads json, p_now timestamptz)
returns table (
  ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text
)
language plpgsql as $$
declare
  v_count int := json_array_length(p_leads);
  v_contact_ids bigint[];
  v_lead_ids bigint[];
  v_timeline_ids bigint[];
  v_event_ids bigint[];
begin
  select array_agg(nextval('contacts_id_seq')), array_agg(nextval('leads_id_seq')),
    array_agg(nextval('lead_timeline_id_seq')), array_agg(nextval('events_id_seq'))
  into v_contact_ids, v_lead_ids, v_timeline_ids, v_event_ids from generate_series(1, v_count);
  return query select * from create_leads_on_node(
    p_account_id, p_leads, p_now, v_contact_ids, v_lead_ids, v_timeline_ids, v_event_ids);
end
$$;

-- Creates leads on the node of their account, as create_leads calls it, with the IDs that the coordinator's
-- sequences gave. One statement for each table, with the values of all rows in its text: Citus plans each statement
-- again, which takes longer than the work of a row, and refuses to insert rows of an array.
create or replace function create_leads_on_node(
  p_account_id bigint, p_leads json, p_now timestamptz,
  p_contact_ids bigint[], p_lead_ids bigint[], p_timeline_ids bigint[], p_event_ids bigint[]
) returns table (
  ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_leads lead_input[];
  v_workspace_ids bigint[];
  v_phones text[];
  v_asked_contacts bigint[];
  v_asked_agents bigint[];
  v_agents bigint[];
  v_schema_versions json;
  v_refusals text[];
  v_contacts json;
  v_checked json;
  v_new_contacts text;
  v_new_leads text;
  v_new_timeline text;
  v_new_events text;
begin
  select array_agg(l order by l.ordinal), array_agg(distinct l.workspace_id),
    array_agg(distinct l.phone) filter (where l.contact_id is null),
    array_agg(distinct l.contact_id) filter (where l.contact_id is not null),
    array_agg(distinct l.assigned_agent_id) filter (where l.assigned_agent_id is not null)
  into v_leads, v_workspace_ids, v_phones, v_asked_contacts, v_asked_agents
  from json_populate_recordset(null::lead_input, p_leads) l;

  -- Locked until the commit, in one order; only the deletion of a picklist option waits for it (FOR UPDATE).
  select json_object_agg(w.id, w.schema_version) filter (where w.active) into v_schema_versions
  from (
    select w.id, w.active, w.schema_version from workspaces w
    where w.account_id = p_account_id and w.id = any (v_workspace_ids)
    order by w.id
    for key share) w;
  if v_asked_agents is not null then
    select array_agg(u.id) into v_agents from users u
    where u.account_id = p_account_id and u.id = any (v_asked_agents) and u.active;
  end if;
  select array_agg(
    case
      when v_schema_versions ->> l.workspace_id::text is null then 'not-found'
      when (v_schema_versions ->> l.workspace_id::text)::bigint <> l.schema_version then 'retry'
      when l.assigned_agent_id is not null and l.assigned_agent_id <> all (coalesce(v_agents, '{}')) then 'INVALID_AGENT'
    end order by l.ordinal)
  into v_refusals from unnest(v_leads) l;

  -- Contacts first and sorted, so that batches that share phones do not deadlock. When leads share a new phone, the
  -- first one names the contact.
  select string_agg(
    format('(%L,%L,%L,%L,%L,%L,%L,%L)', p_account_id, p_contact_ids[l.place], l.workspace_id, l.phone, l.phone_e164,
      l.name, p_now, p_now),
    ',' order by l.workspace_id, l.phone, l.ordinal)
  into v_new_contacts
  from (select l.*, row_number() over (order by l.ordinal) as place from unnest(v_leads) l) l
  where l.contact_id is null and v_refusals[l.place] is null;
  if v_new_contacts is not null then
    execute 'insert into contacts (account_id, id, workspace_id, phone, phone_e164, name, created_at, updated_at)
      values ' || v_new_contacts || ' on conflict (account_id, workspace_id, phone) do nothing';
  end if;

  select json_agg(json_build_object('id', c.id, 'workspace_id', c.workspace_id, 'phone', c.phone, 'name', c.name))
  into v_contacts from contacts c
  where c.account_id = p_account_id
    and (c.workspace_id = any (v_workspace_ids) and c.phone = any (v_phones) or c.id = any (v_asked_contacts));

  with known as materialized (
    select * from json_to_recordset(v_contacts) c (id bigint, workspace_id bigint, phone text, name text)
  ), found as (
    select l.*, row_number() over (order by l.ordinal) as place,
      coalesce(c.id, case when a.workspace_id = l.workspace_id then a.id end) as found_id,
      coalesce(c.name, a.name) as found_name, coalesce(c.phone, a.phone) as found_phone
    from unnest(v_leads) l
    left join known c on l.contact_id is null and c.workspace_id = l.workspace_id and c.phone = l.phone
    left join known a on a.id = l.contact_id
  ), checked as (
    select f.*, coalesce(v_refusals[f.place], case
        when f.found_id is not null then 'created'
        when f.contact_id is null then 'retry'
        else 'INVALID_CONTACT'
      end) as verdict
    from found f
  ), numbered as (
    select c.*, case when c.verdict = 'created' then p_lead_ids[c.place] end as new_id from checked c
  )
  select json_agg(json_build_object(
      'ordinal', n.ordinal, 'verdict', n.verdict, 'lead_id', n.new_id, 'contact_id', n.found_id,
      'contact_name', n.found_name, 'contact_phone', n.found_phone) order by n.ordinal),
    string_agg(format('(%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L,%L)', p_account_id, n.new_id, n.workspace_id,
      n.found_id, n.name, n.email, n.phone, n.phone_e164, n.assigned_agent_id, n.status_id, n.source_id,
      n.priority_id, n.custom_fields, n.created_by, p_now, p_now), ',') filter (where n.new_id is not null),
    string_agg(format('(%L,%L,%L,''created'',%L,%L,''{}'')', p_account_id, p_timeline_ids[n.place], n.new_id, p_now,
      n.created_by), ',') filter (where n.new_id is not null),
    string_agg(format('(%L,%L,''lead.created'',%L,%L)', p_account_id, p_event_ids[n.place], p_now, json_build_object(
      'id', n.new_id, 'workspaceId', n.workspace_id, 'contactId', n.found_id, 'name', n.name,
      'email', n.email, 'phone', n.phone, 'assignedAgentId', n.assigned_agent_id,
      'statusId', n.status_id, 'sourceId', n.source_id, 'priorityId', n.priority_id,
      'customFields', n.custom_fields, 'createdBy', n.created_by)), ',') filter (where n.new_id is not null)
  into v_checked, v_new_leads, v_new_timeline, v_new_events from numbered n;

  if v_new_leads is not null then
    execute 'insert into leads (account_id, id, workspace_id, contact_id, name, email, phone, phone_e164,
      assigned_agent_id, status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at) values '
      || v_new_leads;
    execute 'insert into lead_timeline (account_id, id, lead_id, kind, at, user_id, data) values ' || v_new_timeline;
    execute 'insert into events (account_id, id, type, occurred_at, data) values ' || v_new_events;
  end if;
  return query select * from json_to_recordset(v_checked) r (
    ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text);
end
$$;
