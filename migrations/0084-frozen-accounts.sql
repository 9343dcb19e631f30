-- A frozen account is moved to another installation, or was imported and is not active yet: it accepts no writes, and
-- nothing is sent or called for it.
alter table accounts add column frozen_at timestamptz;
