-- Jobs are found and claimed by kind, so that a backlog of one kind delays no other.
drop index jobs_due;
create index jobs_due on jobs (account_id, kind, run_at, id);
drop index jobs_by_time;
create index jobs_by_kind on jobs (kind, run_at);
