-- Indexes that bound reads by their page instead of by what lies behind it.

-- The page of a ledger by reservation, newest first; also serves the sums, as its predecessor did.
drop index credit_transfers_by_reservation;
create index credit_transfers_by_reservation
  on credit_transfers (account_id, reservation_id, id) include (type, amount) where reservation_id is not null;

-- Finds a phone in a campaign. Its columns never change, but until updates of recipients are HOT each one adds an
-- entry: 2.8 to 3.3 KB of WAL for a message that is read. Partial, so that no statement by campaign and ID can use it
-- instead of the primary key, as a generic plan did.
create index chat_recipients_in_campaign on chat_recipients (account_id, campaign_id, phone)
  where phone is not null;

-- The held leases, among which the senders' poll finds expired ones. Without expires_at, so that renewals stay HOT.
create index leases_held on leases (account_id, name) where holder is not null;
