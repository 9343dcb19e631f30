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

-- When header_media got its media ID, which the provider forgets after 30 days.
alter table chat_templates add column header_media_at timestamptz;
update chat_templates set header_media_at = updated_at where header_media->>'id' is not null;

-- It has one more parameter and another result.
drop function if exists retry_chat_recipients(bigint, bigint, text[], timestamptz);
