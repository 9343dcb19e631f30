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
