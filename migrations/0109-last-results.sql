-- The state of a recipient who waits or is called again, if no further call is placed: the result of the last attempt.
-- Null: no attempt yet, or the last one ended before this migration.
alter table voice_recipients add column last_result text;
