-- As retry_failed_voice_recipients without reasons: for a version before it that runs beside this one.
create or replace function retry_voice_recipients(
  p_account_id bigint, p_campaign_id bigint, p_outcomes text[], p_now timestamptz
) returns int
language plpgsql
as $$
begin
  return retry_failed_voice_recipients(p_account_id, p_campaign_id, p_outcomes, null, p_now);
end $$;
