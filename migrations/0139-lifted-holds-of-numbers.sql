-- When a person last lifted such a hold of the number: a delivery status from before it does not set it again.
alter table chat_numbers add column restriction_lifted_at timestamptz;
alter table chat_numbers add column auth_lifted_at timestamptz;
