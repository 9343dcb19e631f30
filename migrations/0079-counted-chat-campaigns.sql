-- transaction: per statement
-- Whether chat_report_counts has all of the campaign (count_chat_campaign). False for campaigns of earlier versions, which a
-- worker counts; until then, reports read their rows.
alter table chat_campaigns add column report_counted boolean not null default false;
create index concurrently if not exists chat_campaigns_uncounted on chat_campaigns (account_id, id)
  where not report_counted;
