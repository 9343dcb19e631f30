-- Claims as claim_due_recipients on whichever trunk the campaign has, for the previous version.
create or replace function claim_recipients(
  p_account_id bigint, p_campaign_id bigint, p_node_id bigint, p_fence bigint, p_take int,
  p_caller_id text, p_time_zones text[], p_now timestamptz
) returns table (call jsonb)
language plpgsql as $$
declare
  v_trunk_id bigint;
begin
  select v.trunk_id into v_trunk_id from voice_campaigns v
    where v.account_id = p_account_id and v.id = p_campaign_id;
  return query select t.call from claim_due_recipients(
    p_account_id, p_campaign_id, v_trunk_id, p_node_id, p_fence, p_take, p_caller_id, p_time_zones, p_now) t;
end $$;
