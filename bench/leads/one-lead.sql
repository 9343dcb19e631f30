-- The fastest known SQL for one lead: one prepared statement with the effects of create_leads. It looks the
-- contact up first, because an insert that conflicts still uses an ID and a write.
\set draw random(0, 3)
\set is_new random(0, 1)
\set phone 9000000000 + random(1, :known)
\if :is_new
\set phone 6000000000 + random(0, 2999999999)
\endif
\set n :phone % 1000
with found as (
  select id, name from contacts
  where account_id = :account and workspace_id = :workspace and phone = :phone::text
), made as (
  insert into contacts (account_id, workspace_id, phone, phone_e164, name, created_at, updated_at)
  select :account, :workspace, :phone::text, '+91' || :phone::text, 'Lead ' || :n::text, now(), now()
  where not exists (select from found)
  on conflict (account_id, workspace_id, phone) do update set phone = excluded.phone
  returning id, name
), contact as (
  select id, name from found union all select id, name from made
), lead as (
  insert into leads (account_id, workspace_id, contact_id, name, email, phone, phone_e164,
    status_id, source_id, priority_id, custom_fields, created_by, created_at, updated_at)
  select :account, :workspace, c.id, 'Lead ' || :n::text,
    case when :draw::int > 0 then 'lead' || :n::text || '@example.com' end, :phone::text,
    '+91' || :phone::text, :status, null, :priority,
    case when :draw::int = 3 then '{"campaign_note":"from the fair"}' else '{}' end::jsonb,
    :user, now(), now()
  from contact c
  returning *
), noted as (
  insert into lead_timeline (account_id, lead_id, kind, at, user_id, data)
  select account_id, id, 'created', created_at, created_by, '{}' from lead
), recorded as (
  insert into events (account_id, type, occurred_at, data)
  select account_id, 'lead.created', created_at, json_build_object('id', id, 'workspaceId', workspace_id,
    'contactId', contact_id, 'name', name, 'email', email, 'phone', phone, 'assignedAgentId', null,
    'statusId', status_id, 'sourceId', null, 'priorityId', priority_id,
    'customFields', custom_fields, 'createdBy', created_by)
  from lead
)
select lead.id, c.id, c.name from lead, contact c;
