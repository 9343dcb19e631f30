-- A lead as create_leads reads it.

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
