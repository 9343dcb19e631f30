-- Incoming calls to accounts' phone numbers are answered: by a voice menu, or by an agent group. Without a route they
-- are refused as busy.
alter table phone_numbers
  add column menu_id bigint,
  add column agent_group_id bigint,
  add check (menu_id is null or agent_group_id is null);

alter table call_campaigns drop constraint call_campaigns_kind_check,
  add constraint call_campaigns_kind_check check (kind in ('click_to_call', 'voice', 'incoming'));

alter table calls
  add column direction text not null default 'outbound' check (direction in ('inbound', 'outbound')),
  -- An inbound call's channel at the switch, and what its caller hears: {"channel": …, "content": …}.
  add column incoming json;

-- An incoming call has no recipient.
alter table call_menu_steps alter column recipient_id drop not null;
