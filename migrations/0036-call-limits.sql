-- The longest conversation of an account's calls, and the voice file that asks agents on phone numbers to press
-- 1 to accept a call (null: they are not asked).
alter table accounts
  add column talk_minutes_max int not null default 240 check (talk_minutes_max between 1 and 1440),
  add column accept_voice_file_id bigint;

-- The caller asked for an agent, and none was connected. The abandonment rate of a campaign relates these calls
-- to those that a person answered.
alter table calls add column abandoned boolean not null default false;
alter table voice_counts
  add column live_answers int not null default 0,
  add column abandoned int not null default 0;
