-- Incoming calls that are recorded as missed while the switch still has them: the next node leader refuses them without
-- recording them again. `channel` is the switch's name of the call, not a number.
create table refused_calls (
  account_id bigint not null,
  node_id bigint not null,
  channel text not null,
  recorded_at timestamptz not null,
  primary key (account_id, node_id, channel)
);
