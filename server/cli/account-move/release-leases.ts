// The leases of an imported account. Some are read without their account: a held one counts against every process, and
// one with another name may not be readable.
import type { Client } from "./moved-tables.ts";

/** The roles that a process has for an account. Its part in a pool and a node are of the installation. */
const roles = ["callbacks", "chat_inbound", "chat_sender"] as const;

/**
 * Ends an account's leases, and deletes those with another name than `<role>:<id>`. The lease of a sender that was
 * interrupted stays expired, so that the next one recovers its messages; all others are released.
 */
export async function releaseLeases(client: Client, account_id: number): Promise<void> {
  await client.query("delete from leases where account_id = $1 and name !~ $2", [
    account_id,
    `^(${roles.join("|")}):[1-9][0-9]{0,17}$`,
  ]);
  // Fencing tokens begin at the time in milliseconds (acquire_lease) and grow more slowly than it.
  await client.query(
    `update leases l set expires_at = least(l.expires_at, now()), takeovers = 0,
       fence = least(l.fence, floor(extract(epoch from now()) * 1000)),
       holder = case when exists (
         select from chat_numbers n where n.account_id = $1 and l.name = 'chat_sender:' || n.id
       ) then l.holder end
     where l.account_id = $1`,
    [account_id],
  );
}
