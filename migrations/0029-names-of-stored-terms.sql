-- Renames what still had an earlier name: AI agents, who requested a call command, and the processing of inbound
-- webhooks (the slot of its counts and the lease of its worker).
alter table voice_agents rename to voice_ai_agents;
alter index voice_agents_pkey rename to voice_ai_agents_pkey;
alter index voice_agents_account_id_name_key rename to voice_ai_agents_account_id_name_key;
alter index voice_files_by_agent rename to voice_files_by_ai_agent;
alter table call_commands rename column asked_by to requested_by;
alter table chat_counts drop constraint chat_counts_slot_check;
update chat_counts set slot = 'inbound' where slot = 'reports';
alter table chat_counts add constraint chat_counts_slot_check check (slot in ('sender', 'inbound', 'controls'));
update leases set name = replace(name, 'chat_reports:', 'chat_inbound:') where name like 'chat\_reports:%';

-- Their files in functions/ have the new names.
drop function if exists chat_move_recipients(bigint, text, json, timestamptz);
drop function if exists chat_apply_moves(bigint, text, chat_move[], timestamptz);
drop function if exists chat_write_moves(bigint, text, chat_move[], timestamptz);
drop function if exists take_lease(bigint, text, uuid, int);
