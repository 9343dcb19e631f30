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
-- sequences gave. Each statement is on rows of the account by values, which Citus plans once.
create or replace function create_leads_on_node(
  p_account_id bigint, p_leads json, p_now timestamptz,
  p_contact_ids bigint[], p_lead_ids bigint[], p_timeline_ids bigint[], p_event_ids bigint[]
) returns table (
  ordinal int, verdict text, lead_id bigint, contact_id bigint, contact_name text, contact_phone text
)
language plpgsql as $$
#variable_conflict use_variable
declare
  v_leads lead_input[];
  v_l lead_input;
  v_place int := 0;
  v_workspace_id bigint;
  v_is_active boolean;
  v_schema_version bigint;
  v_has_agent boolean;
  v_locked bigint[] := '{}';
  v_active bigint[] := '{}';
  v_versions bigint[] := '{}';
begin
  select array_agg(l order by l.ordinal) into v_leads
  from json_populate_recordset(null::lead_input, p_leads) l;

  -- Locked until the commit, in one order; only the deletion of a picklist option waits for it (FOR UPDATE).
  for v_workspace_id in select distinct l.workspace_id from unnest(v_leads) l order by 1 loop
    select w.active, w.schema_version into v_is_active, v_schema_version
    from workspaces w where w.account_id = p_account_id and w.id = v_workspace_id for key share;
    v_locked := v_locked || v_workspace_id;
    v_active := v_active || case when v_is_active then v_workspace_id end;
    v_versions := v_versions || v_schema_version;
  end loop;

  -- Contacts first and sorted, so that batches that share phones do not deadlock. When leads share a new phone, the
  -- first one names the contact.
  for v_l in
    select (l).* from unnest(v_leads) l where l.contact_id is null
    order by l.workspace_id, l.phone, l.ordinal
  loop
    v_place := v_place + 1;
    continue when v_l.workspace_id = any (array_remove(v_active, null)) is not true
      or v_versions[array_position(v_locked, v_l.workspace_id)] <> v_l.schema_version;
    if v_l.assigned_agent_id is not null then
      select u.active into v_has_agent from users u
      where u.account_id = p_account_id and u.id = v_l.assigned_agent_id;
      continue when v_has_agent is not true;
    end if;
    insert into contacts (account_id, id, workspace_id, phone, phone_e164, name, created_at, updated_at)
    values (p_account_id, p_contact_ids[v_place], v_l.workspace_id, v_l.phone, v_l.phone_e164, v_l.name, p_now, p_now)
    on conflict (account_id, workspace_id, phone) do nothing;
  end loop;

  v_place := 0;
  foreach v_l in array coalesce(v_leads, '{}') loop
    v_place := v_place + 1;
    ordinal := v_l.ordinal;
    lead_id := null;
    contact_id := null;
    contact_name := null;
    contact_phone := null;
    if v_l.contact_id is null then
      select c.id, c.name, c.phone into contact_id, contact_name, contact_phone from contacts c
      where c.account_id = p_account_id and c.workspace_id = v_l.workspace_id and c.phone = v_l.phone;
    else
      select case when c.workspace_id = v_l.workspace_id then c.id end, c.name, c.phone
      into contact_id, contact_name, contact_phone from contacts c
      where c.account_id = p_account_id and c.id = v_l.contact_id;
    end if;
    v_has_agent := true;
    if v_l.assigned_agent_id is not null then
      select u.active into v_has_agent from users u
      where u.account_id = p_account_id and u.id = v_l.assigned_agent_id;
    end if;
    verdict := case
      when v_l.workspace_id = any (array_remove(v_active, null)) is not true then 'not-found'
      when v_versions[array_position(v_locked, v_l.workspace_id)] <> v_l.schema_version then 'retry'
      when v_has_agent is not true then 'INVALID_AGENT'
      when contact_id is null then case when v_l.contact_id is null then 'retry' else 'INVALID_CONTACT' end
      else 'created'
    end;
    if verdict = 'created' then
      lead_id := p_lead_ids[v_place];
      insert into leads
        (account_id, id, workspace_id, contact_id, name, email, phone, phone_e164, assigned_agent_id,
         status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at)
      values (p_account_id, lead_id, v_l.workspace_id, contact_id, v_l.name, v_l.email, v_l.phone, v_l.phone_e164,
        v_l.assigned_agent_id, v_l.status_id, v_l.source_id, v_l.priority_id, v_l.custom_fields, v_l.created_by,
        p_now, p_now);
      insert into lead_timeline (account_id, id, lead_id, kind, at, user_id, data)
      values (p_account_id, p_timeline_ids[v_place], lead_id, 'created', p_now, v_l.created_by, '{}');
      insert into events (account_id, id, type, occurred_at, data)
      values (p_account_id, p_event_ids[v_place], 'lead.created', p_now, json_build_object(
        'id', lead_id, 'workspaceId', v_l.workspace_id, 'contactId', contact_id, 'name', v_l.name,
        'email', v_l.email, 'phone', v_l.phone, 'assignedAgentId', v_l.assigned_agent_id,
        'statusId', v_l.status_id, 'sourceId', v_l.source_id, 'priorityId', v_l.priority_id,
        'customFields', v_l.custom_fields, 'createdBy', v_l.created_by));
    end if;
    return next;
  end loop;
end
$$;
