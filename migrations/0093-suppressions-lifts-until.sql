-- Requests up to this time are lifted, where that is not lifted_at: when a user removes a suppression, only those that were
-- known are. A stop that arrives later counts, also if it happened before the removal or the provider's clock is behind.
alter table suppressions add column lifts_until timestamptz;
