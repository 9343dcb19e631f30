-- Stores other numbers (wa_id) under which the provider knows phones, in both directions, so that either finds the other.
create or replace function record_phone_aliases(p_account_id bigint, p_aliases json)
returns void
language plpgsql
as $$
begin
  insert into phone_aliases (account_id, phone_key, alias_key)
  select distinct p_account_id, k.phone_key, k.alias_key
  from json_to_recordset(p_aliases) a (phone text, wa_id text),
    lateral (values (phone_key(a.phone), phone_key(a.wa_id)), (phone_key(a.wa_id), phone_key(a.phone)))
      k (phone_key, alias_key)
  order by k.phone_key, k.alias_key
  on conflict do nothing;
end $$;
