/**
 * Returns an SQL condition: whether a phone is an agent number of the account or a member of one of its agent groups.
 * `spellings` has every spelling of the phone, the key first.
 */
export const isAgentNumber = (accountId: string, spellings: string) => `(
    exists (
      select from agent_numbers n
      where n.account_id = ${accountId} and n.phone_key = (${spellings}::text[])[1]
    ) or exists (
      select from agent_group_members m
      where m.account_id = ${accountId} and m.number = any(${spellings}::text[])))`;
