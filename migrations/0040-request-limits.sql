-- Requests a minute that an account, and each of its tokens, may send to one process. The defaults are beyond what
-- a process serves today (13,000 leads/s of one token): they end runaway loops, and an operator lowers them.
alter table accounts
  add column requests_a_minute int not null default 2000000 check (requests_a_minute > 0),
  add column token_requests_a_minute int not null default 1000000 check (token_requests_a_minute > 0);
