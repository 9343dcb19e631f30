-- One suppression per person, channel, scope and source, matched by a canonical key, so that lifting one source
-- lifts no other and every spelling of a number matches.

alter table suppressions
  -- phone_key(phone), or `bsuid:` and the user ID while the phone is unknown.
  add column person_key text,
  add column bsuid text,
  add column scope text not null default 'all' check (scope in ('all', 'marketing')),
  -- What proves it: the reply, the call and its key, the words on a call.
  add column evidence jsonb,
  -- When the person, or whoever acted for them, last asked for it: the event's own time.
  add column occurred_at timestamptz,
  -- When it was lifted, and expired. The row stays, so that an older request that arrives later has no effect.
  add column lifted_at timestamptz,
  alter column phone drop not null,
  add constraint suppressions_person check (phone is not null or bsuid is not null),
  add constraint suppressions_lifted check (lifted_at is null or (expires_at is not null and expires_at <= lifted_at));

-- As functions/phone_key.sql, which does not exist yet.
update suppressions set occurred_at = created_at, person_key = case
  when phone ~ '^55[1-9][1-9][6-9][0-9]{7}$' then left(phone, 4) || '9' || substr(phone, 5)
  when phone ~ '^521[0-9]{10}$' then '52' || substr(phone, 4)
  when phone ~ '^549[0-9]{10}$' then '54' || substr(phone, 4)
  else phone end;

-- Two spellings of one number: the one that lasts longest stays.
delete from suppressions s using (
  select account_id, id, row_number() over (
    partition by account_id, person_key, channel, source order by expires_at desc nulls first, id) as place
  from suppressions
) d where d.account_id = s.account_id and d.id = s.id and d.place > 1;

alter table suppressions
  alter column scope drop default,
  alter column person_key set not null,
  alter column occurred_at set not null;
drop index suppressions_by_phone;
create unique index suppressions_by_person on suppressions (account_id, person_key, channel, scope, source);

-- A reply left no row of its own where another source had already suppressed the number.
insert into suppressions
  (account_id, person_key, phone, channel, scope, source, reason, evidence, occurred_at, created_at)
select distinct on (s.account_id, s.person_key) s.account_id, s.person_key, r.phone, 'chat', 'all', 'reply',
  'The customer replied with a stop word',
  jsonb_build_object('reply_id', r.id, 'message_id', r.provider_message_id, 'text', r.text), r.received_at, now()
from chat_replies r
join suppressions s on s.account_id = r.account_id and s.phone = r.phone
where r.opted_out and s.channel = 'chat' and s.source <> 'reply' and s.expires_at is null
order by s.account_id, s.person_key, r.received_at desc
on conflict do nothing;

-- The phone of a WhatsApp user's business-scoped ID, once a webhook names both.
create table person_bsuids (
  account_id bigint not null,
  bsuid text not null,
  -- Null while unknown. The row exists as soon as a suppression names the ID: its lock orders the
  -- suppression and the link.
  phone_key text,
  primary key (account_id, bsuid)
);
create index person_bsuids_by_phone on person_bsuids (account_id, phone_key) where phone_key is not null;

-- A person is in a group once, however the number is written.
alter table group_members add column phone_key text;
update group_members set phone_key = case
  when phone ~ '^55[1-9][1-9][6-9][0-9]{7}$' then left(phone, 4) || '9' || substr(phone, 5)
  when phone ~ '^521[0-9]{10}$' then '52' || substr(phone, 4)
  when phone ~ '^549[0-9]{10}$' then '54' || substr(phone, 4)
  else phone end;
delete from group_members m using (
  select account_id, id, row_number() over (partition by account_id, group_id, phone_key order by id desc) as place
  from group_members
) d where d.account_id = m.account_id and d.id = m.id and d.place > 1;
alter table group_members alter column phone_key set not null;
drop index group_members_by_phone;
create unique index group_members_by_person on group_members (account_id, group_id, phone_key);

alter table accounts
  -- What a reply with a stop word suppresses.
  add column chat_stop_scope text not null default 'all' check (chat_stop_scope in ('all', 'marketing'));
