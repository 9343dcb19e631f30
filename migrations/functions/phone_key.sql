-- Returns the canonical form of a number's spellings (E.164 digits), by which people are matched; a message goes to the
-- number as it was given. The same rule as phoneKey (server/lib/phone-key.ts). The planner inlines it.
create or replace function phone_key(phone text) returns text
language sql immutable parallel safe as $$
  select case
    when left(phone, 1) <> '5' then phone
    when phone ~ '^55[1-9][1-9][6-9][0-9]{7}$' then left(phone, 4) || '9' || substr(phone, 5)
    when phone ~ '^521[0-9]{10}$' then '52' || substr(phone, 4)
    when phone ~ '^549[0-9]{10}$' then '54' || substr(phone, 4)
    else phone
  end
$$;
