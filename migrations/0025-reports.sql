-- What reports look for by time.

-- The campaigns that something of may have happened to in a span: those that ended since, or are open.
create index chat_campaigns_by_end on chat_campaigns (account_id, finished_at);

create index chat_replies_by_time on chat_replies (account_id, received_at)
  where campaign_id is not null;

-- Which agents talked on calls: those of a campaign have few of them, and their legs are read one by one
-- nowhere. Written once a leg, when it is answered.
create index call_legs_of_talks on call_legs (account_id, initiated_at)
  include (call_id, id, role, number) where role <> 'customer' and answered_at is not null;
