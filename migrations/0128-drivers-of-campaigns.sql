-- The drivers of the trunk's nodes at the launch, which show over which trunks the campaign may continue once its trunk
-- and their nodes are deleted. Null: launched by a version without this column.
alter table voice_campaigns add column launch_drivers text[];
