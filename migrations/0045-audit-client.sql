-- Where a change came from: the address and the program of the request. Null for changes that no request made.
alter table audit_entries add column address text;
alter table audit_entries add column user_agent text;
