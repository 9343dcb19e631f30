-- Functions that were renamed to purge_* and record_message_events. Dropped at once, because no release has them.
drop function if exists forget_calls(bigint, timestamptz, int);
drop function if exists forget_endpoints(bigint, timestamptz, int, timestamptz);
drop function if exists forget_events(bigint, timestamptz, int);
drop function if exists forget_messages(bigint, timestamptz, int, timestamptz);
drop function if exists forget_voice_recipients(bigint, timestamptz, int, timestamptz);
drop function if exists tell_of_messages(bigint, chat_moved[], chat_move[], timestamptz);
