-- Conversations that an AI agent has to hold as before (server/voice/ai-agents/rehearse.ts).
alter table voice_ai_agents add column rehearsals jsonb not null default '[]';
