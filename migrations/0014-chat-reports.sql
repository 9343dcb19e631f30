-- The applier of providers' reports.

-- Its rows live for seconds: compressing them costs more than they weigh.
alter table chat_inbox alter column body set storage external;

-- Whose message a reply answers that names none: who replies has it, and what is neither delivered
-- nor read has no entry, so that neither intake nor sender pays for this.
create index chat_recipients_by_phone
  on chat_recipients (account_id, phone, dispatched_at) where state in ('delivered', 'read');

create index chat_replies_by_phone on chat_replies (account_id, phone, id);
create index chat_replies_opted_out on chat_replies (account_id, id) where opted_out;

create type chat_reply as (
  provider_message_id text,
  phone text,
  type text,
  text text,
  payload text,
  -- The provider's id of the message it answers; null where the customer named none.
  answers text,
  opted_out boolean,
  at timestamptz
);

-- Keeps replies, each once, with the recipient whose message they answer: the one they name, else the
-- latest to that phone from this number within a day. Returns those that are new.
create function record_chat_replies(p_account_id bigint, p_number_id bigint, p_replies json)
returns setof chat_replies
language sql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  insert into chat_replies (account_id, chat_number_id, provider_message_id, phone, type, text, payload,
    campaign_id, recipient_id, opted_out, received_at)
  select p_account_id, p_number_id, r.provider_message_id, r.phone, r.type, r.text, r.payload,
    coalesce(named.campaign_id, latest.campaign_id), coalesce(named.id, latest.id), r.opted_out, r.at
  from json_populate_recordset(null::chat_reply, p_replies) r
  left join lateral (
    select m.campaign_id, m.id from chat_recipients m
    where m.account_id = p_account_id and m.provider_message_id = r.answers
    limit 1) named on true
  left join lateral (
    select m.campaign_id, m.id from chat_recipients m
    join chat_campaigns c on c.account_id = p_account_id and c.id = m.campaign_id
    where named.id is null and m.account_id = p_account_id and m.phone = r.phone
      and m.state in ('delivered', 'read') and m.dispatched_at > r.at - interval '24 hours'
      and c.chat_number_id = p_number_id
    order by m.dispatched_at desc
    limit 1) latest on true
  order by r.provider_message_id
  on conflict (account_id, provider_message_id) do nothing
  returning *
$$;

-- What a batch of chat_inbox rows says, in one autocommit call under the number's lease, so that a
-- process that is frozen in the middle holds no lock: moves and replies, the rows that are done with
-- gone, and what of them may make sense later as rows of its own (p_later). Returns what moved.
create function apply_chat_reports(
  p_account_id bigint, p_number_id bigint, p_fence bigint,
  p_moves json, p_replies json, p_done bigint[], p_later json, p_now timestamptz
) returns setof chat_moved
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  perform check_lease(p_account_id, 'chat_reports:' || p_number_id, p_fence);
  delete from chat_inbox i where i.account_id = p_account_id and i.id = any (p_done);
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
    select p_account_id, p_number_id, l.driver, l.body, l.received_at, l.due_at
    from json_to_recordset(p_later)
      l (driver text, body json, received_at timestamptz, due_at timestamptz);
  perform record_chat_replies(p_account_id, p_number_id, p_replies);
  return query select * from chat_move_recipients(p_account_id, 'reports', p_moves, p_now);
end $$;
