-- transaction: per statement
-- The number of members of each group, changed in the transaction of its members. It is right if members_counted_at is the
-- group's updated_at: an earlier version, which also sets updated_at when it adds or removes members, does not count.
alter table groups add column members_count bigint not null default 0;
alter table groups add column members_counted_at timestamptz;
alter table agent_groups add column members_count int not null default 0;
alter table agent_groups add column members_counted_at timestamptz;
-- The time comes from the row that was read with the members, not from a newer one that a concurrent change left.
update groups set members_counted_at = seen.updated_at, members_count = (
    select count(*) from group_members m where m.account_id = groups.account_id and m.group_id = groups.id)
  from groups seen
  where seen.account_id = groups.account_id and seen.id = groups.id and groups.members_counted_at is null
    and batch_of(groups);
update agent_groups set members_counted_at = seen.updated_at, members_count = (
    select count(*) from agent_group_members m
    where m.account_id = agent_groups.account_id and m.group_id = agent_groups.id)
  from agent_groups seen
  where seen.account_id = agent_groups.account_id and seen.id = agent_groups.id
    and agent_groups.members_counted_at is null and batch_of(agent_groups);
