-- When a person last lifted the hold of the paused template: a delivery status from before it does not set it again.
alter table chat_templates add column pause_lifted_at timestamptz;
