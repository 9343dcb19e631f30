-- The operator's bounds of what an account may set: the hours that its calling window must lie within, such as
-- 08:00-21:00, and whether its country code and time zone may change.
alter table accounts add column calling_hours_allowed text
  check (calling_hours_allowed ~ '^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$');
alter table accounts add column region_locked boolean not null default false;
