-- The countries that an account and a trunk may call, and the agents' phones that a trunk rings.
alter table accounts
  -- The operator's bound (ISO 3166-1 alpha-2, or `*`); null: the country of country_code.
  add column call_destinations_allowed text[],
  -- Those of them that the account wants to call; null: all.
  add column call_destinations text[];
alter table trunks add column destinations text[] not null default '{*}';
