-- A job deletes the members of a deleted group in batches, and then the group: one statement over a million members
-- exceeded the time-out of the request, so that such a group could not be deleted.
alter table groups add column deleted_at timestamptz;
