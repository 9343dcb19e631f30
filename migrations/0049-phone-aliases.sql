-- The number under which WhatsApp knows a phone, where it is not a spelling of the same number: the provider names
-- it when it accepts a message. Both directions are stored, so that either key finds the other.
create table phone_aliases (
  account_id bigint not null,
  phone_key text not null,
  alias_key text not null,
  primary key (account_id, phone_key, alias_key)
);

-- It has one more parameter.
drop function if exists record_and_claim_messages(bigint, bigint, bigint, json, bigint, int, bigint, timestamptz);
