-- A campaign whose template has changed since its creation is held (`template_changed`), and failed recipients
-- of a campaign can be retried.

-- server/chat/holds/holds.ts lists the reasons of holds.
alter table chat_holds drop constraint chat_holds_reason_check;

-- How many recipients were queued again: each reserved one more credit.
alter table chat_campaigns add column retried int not null default 0;
-- How often the recipient was queued again: each allows one call beyond the campaign's own attempts.
alter table voice_recipients add column retries int not null default 0;
