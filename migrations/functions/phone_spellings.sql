-- Returns every spelling of a number (E.164 digits) that has its phone_key, the key first, so that an index on
-- the number as given finds them all.
create or replace function phone_spellings(phone text) returns text[]
language sql immutable parallel safe as $$
  select case
    when k.key ~ '^55[1-9][1-9]9[6-9][0-9]{7}$' then array[k.key, left(k.key, 4) || substr(k.key, 6)]
    when k.key ~ '^52[0-9]{10}$' then array[k.key, '521' || substr(k.key, 3)]
    when k.key ~ '^54[0-9]{10}$' then array[k.key, '549' || substr(k.key, 3)]
    else array[k.key]
  end
  from (select phone_key(phone) as key) k
$$;
