-- contract since 0096: retention and the removal of an endpoint delete attempts before their deliveries.
-- A look-up for each deleted delivery was a fifth of what retention costs for events with deliveries.
alter table callback_attempts drop constraint callback_attempts_account_id_delivery_id_fkey;
