-- Whether a campaign endpoint has no deliveries and no campaign uses its URL that is open or ended after
-- p_before. Open and ended campaigns are looked up separately: together, every campaign with the URL was read.
create or replace function is_unused_endpoint(p_account_id bigint, p_endpoint_id bigint, p_url text, p_before timestamptz)
returns boolean
language plpgsql stable
set enable_seqscan = off
as $$
begin
  return not exists (
      select from callback_deliveries d where d.account_id = p_account_id and d.endpoint_id = p_endpoint_id)
    and not exists (
      select from voice_campaigns v
      where v.account_id = p_account_id and v.callback_url = p_url and octet_length(v.callback_url) <= 2048
        and v.finished_at is null)
    and not exists (
      select from voice_campaigns v
      where v.account_id = p_account_id and v.callback_url = p_url and octet_length(v.callback_url) <= 2048
        and v.finished_at >= p_before);
end $$;
