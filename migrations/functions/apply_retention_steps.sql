-- Applies the account's settings in order (apply_retention) until one has deleted rows, so that an account without
-- expired records takes one call and a transaction still deletes one batch. Returns that result and the settings that
-- are left; no row while another process has the account.
create or replace function apply_retention_steps(
  p_account_id bigint, p_settings text[], p_rows_max int, p_now timestamptz
) returns table (purged int, more boolean, settings text[])
language plpgsql as $$
begin
  settings := p_settings;
  while cardinality(settings) > 0 loop
    select r.purged, r.more into purged, more
      from apply_retention(p_account_id, settings[1], p_rows_max, p_now) r;
    if purged is null then return; end if;
    settings := settings[2:];
    exit when purged > 0 or more;
  end loop;
  return next;
end $$;
