-- Nodes that are out of contact for too long, what the switch last reported of a call, and the carrier of a
-- campaign, which changes only to a named trunk or on a user's request.

-- Since when the node counts as lost: its calls were ended. Null again once it is connected.
alter table voice_nodes add column lost_at timestamptz;

-- When the switch last reported an event of the call. A lost call is not dated, or billed, before it.
alter table calls add column seen_at timestamptz;

-- The trunk that campaigns move to when this one cannot be used; null: they pause.
alter table trunks add column fallback_trunk_id bigint references trunks on delete set null,
  add check (fallback_trunk_id <> id);

-- The caller ID of a campaign's calls, as it was at the launch; '0': the carrier sets one. Null: the trunk's first.
alter table voice_campaigns add column caller_id text;
update voice_campaigns v set caller_id = coalesce(t.caller_ids[1], '0')
  from trunks t where t.id = v.trunk_id and v.finished_at is null;

alter table voice_holds drop constraint voice_holds_reason_check,
  add constraint voice_holds_reason_check check (reason in ('manual', 'error_threshold', 'credit', 'trunk'));
