-- contract since 0101: erase_calls replaces it.
drop function if exists erase_call(bigint, bigint);
-- contract since 0101: claim_due_recipients replaces it.
drop function if exists claim_recipients(bigint, bigint, bigint, bigint, int, text, text[], timestamptz);
