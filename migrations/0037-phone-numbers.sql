-- Phone numbers (DIDs and caller IDs) that belong to accounts; only operators assign them. Across accounts, as
-- chat_routes, because an incoming call names only the number.
create table phone_numbers (
  -- E.164 digits.
  number text primary key check (number ~ '^[0-9]{7,15}$'),
  account_id bigint not null,
  assigned_at timestamptz not null
);
create index phone_numbers_by_account on phone_numbers (account_id, number);
-- Calls name caller IDs with or without a country code, so the last ten digits identify a number.
create index phone_numbers_by_digits on phone_numbers (right(number, 10));

-- A restricted trunk shows only caller IDs that belong to the call's account; without any, the carrier sets one.
alter table trunks drop constraint trunks_check;
alter table trunks alter column caller_ids_only set default true;

-- The only account of an installation owned every caller ID before numbers had owners.
insert into phone_numbers (number, account_id, assigned_at)
select distinct on (c.number) c.number, o.account_id, o.at
from (
  select min(a.account_id) as account_id, min(a.country_code) as country_code, now() as at
  from accounts a where a.features && '{calls,voice}' having count(*) = 1) o
cross join lateral (
  select case when length(i) = 10 then o.country_code || i else i end as number
  from trunks t cross join unnest(t.caller_ids) i
  where t.caller_ids_only and t.only_account_id is null) c
where c.number ~ '^[0-9]{7,15}$';
