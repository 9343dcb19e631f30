-- transaction: per statement
-- Sign-in links and invitations end with what justified them: the user who made them, and the token they were made with.

-- Null in rows of earlier versions, which did not record it.
alter table sign_in_links add column origin text;
-- For origin 'user'. The token may be a session.
alter table sign_in_links add column created_by bigint;
alter table sign_in_links add column created_by_token bigint;
alter table sign_in_links add constraint sign_in_links_origin_check
  check (origin in ('user', 'operator', 'reset') and (origin = 'user') = (created_by is not null)) not valid;
alter table sign_in_links validate constraint sign_in_links_origin_check;

-- Null at the command line, and in rows of earlier versions.
alter table invitations add column invited_by_token bigint;

-- A user's passkeys are counted in the list of users, and removed together.
create index concurrently if not exists user_passkeys_by_user on user_passkeys (account_id, user_id);
