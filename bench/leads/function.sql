-- Calls create_leads with one lead. A space follows each colon, because pgbench reads ":0" as a variable.
\set draw random(0, 3)
\set is_new random(0, 1)
\set phone 9000000000 + random(1, :known)
\if :is_new
\set phone 6000000000 + random(0, 2999999999)
\endif
\set n :phone % 1000
select ordinal, verdict, lead_id, contact_id, contact_name, contact_phone from create_leads(:account,
  format('[{"ordinal": 0,"workspace_id": %s,"schema_version": %s,"name": "Lead %s","email": %s,"phone": "%s","phone_e164": "+91%s","assigned_agent_id": null,"contact_id": null,"status_id": %s,"source_id": null,"priority_id": %s,"custom_fields": %s,"created_by": %s}]',
    :workspace::text, :version::text, :n::text, case when :draw::int > 0 then '"lead' || :n::text || '@example.com"' else 'null' end,
    :phone::text, :phone::text, :status::text, :priority::text,
    case when :draw::int = 3 then '{"campaign_note": "from the fair"}' else '{}' end, :user::text)::json,
  now());
