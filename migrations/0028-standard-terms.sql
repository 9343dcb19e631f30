-- Tables, columns, states and functions in the terms of docs/glossary.md. Renames only, but for the
-- recipients and plans that name the old ones.
alter table voice_clips rename to voice_audio;
alter index voice_clips_pkey rename to voice_audio_pkey;
alter index voice_clips_unused rename to voice_audio_unused;
alter table voice_audio rename column spoken to synthesized;
alter table voice_files rename column clip_name to audio_name;
alter table voice_recipients rename column clip_name to audio_name;
alter table voice_nodes rename column heard_at to last_seen_at;
alter table credit_transfers rename column from_book to from_ledger_account;
alter table credit_transfers rename column to_book to to_ledger_account;

alter table voice_counts rename column unspoken to synthesizing;
alter index voice_recipients_unspoken rename to voice_recipients_synthesizing;
alter table voice_recipients drop constraint voice_recipients_state_check;
update voice_recipients set state = 'synthesizing' where state = 'unspoken';
alter table voice_recipients add check (state in ('synthesizing', 'waiting', 'calling',
  'answered', 'machine', 'busy', 'no_answer', 'failed', 'suppressed', 'cancelled'));

update jobs set kind = replace(kind, '.wind_down', '.drain_campaign') where kind like '%.wind_down';

-- A quote inside a JSON string is escaped, so the pattern finds keys alone.
update voice_campaigns set plan = replace(plan::text, '"clip":', '"audio":')::json
  where plan::text like '%"clip":%';
update calls set position = replace(position::text, '"clip":', '"audio":')::json
  where position::text like '%"clip":%';

-- Their files in functions/ have the new name or result.
drop function if exists erase_news(json);
drop function if exists apply_chat_reports(bigint, bigint, bigint, json, json, bigint[], json, timestamptz);
drop function if exists callback_turn(bigint, bigint, bigint, json, timestamptz, int, bigint[], timestamptz);
drop function if exists chat_sender_turn(bigint, bigint, bigint, json, bigint, int, bigint, timestamptz);
drop function if exists apply_retention(bigint, text, int, timestamptz);
