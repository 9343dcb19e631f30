-- Erasures of WhatsApp users whose phone number is unknown, and of people with very many calls.

alter table erasures
  -- The WhatsApp user ID, if the request named one instead of a number; null once it is done.
  add column bsuid text,
  add constraint erasures_person check ((state = 'done') = (phone is null and bsuid is null)),
  add constraint erasures_one_identity check (phone is null or bsuid is null);

-- The erased records that later steps of a pending erasure need: the events of leads and calls, and the recordings of
-- calls. A list in erasures.progress was rewritten with every call.
create table erasure_records (
  account_id bigint not null,
  erasure_id bigint not null,
  record_id bigint not null,
  -- customer_call: with the person as the customer; agent_call: with the person as an agent who was on it.
  kind text not null check (kind in ('lead', 'customer_call', 'agent_call')),
  primary key (account_id, erasure_id, record_id, kind)
);
insert into erasure_records (account_id, erasure_id, record_id, kind)
select e.account_id, e.id, c.call_id::bigint, 'customer_call'
from erasures e cross join lateral jsonb_array_elements_text(e.progress -> 'calls') c (call_id)
where e.state = 'pending' on conflict do nothing;

-- Pending erasures begin again: what they have erased is not found and not counted a second time.
update erasures set progress = '{"part": 0, "at": null, "chat": [], "voice": [], "waiting_for": null}'
where state = 'pending';
