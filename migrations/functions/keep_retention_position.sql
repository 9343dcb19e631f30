-- Keeps where the next batch of the setting begins, unless this one has deleted nothing. Positions are deleted when the
-- account has no more expired records, so that what was skipped is found at its next visit. The caller has locked the
-- account.
create or replace function keep_retention_position(
  p_account_id bigint, p_setting text, p_at timestamptz, p_id bigint
) returns void
language plpgsql as $$
begin
  if p_at is null and p_id is null then return; end if;
  insert into retention_positions as p (account_id, setting, at, id)
    values (p_account_id, p_setting, p_at, p_id)
    on conflict (account_id, setting) do update set at = excluded.at, id = excluded.id;
end $$;
