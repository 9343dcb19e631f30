-- What reports look for by time.

-- The campaigns that something of may have happened to in a span: those that ended since, or are open.
create index chat_campaigns_by_end on chat_campaigns (account_id, finished_at);

create index chat_replies_by_time on chat_replies (account_id, received_at)
  where campaign_id is not null;

-- Which agents talked on calls, the one who came last first; read beside the calls, in the order of their
-- ids. Written once a leg, when it is answered.
create index call_legs_of_talks on call_legs (account_id, call_id, id desc)
  include (role, number) where role <> 'customer' and answered_at is not null;
