// Webhooks that could not be read: which are kept, and their return to the inbox.
import { statement, type Executor, type Tx } from "../../lib/database/database.ts";

/** The unread webhooks of an account with the same reason. */
export type UnreadWebhooks = {
  readonly account_id: number;
  readonly reason: string;
  readonly count: number;
  readonly oldest_at: Date;
};

/** Lists the unread webhooks of the installation, for its operator. */
export function listUnreadWebhooks(db: Executor): Promise<UnreadWebhooks[]> {
  return findUnread(db, []);
}

const findUnread = statement<UnreadWebhooks>(`
  select account_id, reason, count(*)::int as count, min(received_at) as oldest_at
  from chat_unread_webhooks group by account_id, reason order by account_id, reason`);

/**
 * Returns an account's unread webhooks to the inbox, where the running version reads them. Content that was applied
 * before has no second effect. Returns how many; the applier finds them at its next poll.
 */
export async function reprocessWebhooks(tx: Tx, accountId: number, now: Date): Promise<number> {
  return (await returnToInbox(tx, [accountId, now])).length;
}

const returnToInbox = statement(`
  with gone as (delete from chat_unread_webhooks where account_id = $1 returning *)
  insert into chat_inbox (account_id, chat_number_id, driver, body, received_at, due_at)
  select g.account_id, g.chat_number_id, g.driver, json_build_array(g.body), g.received_at, $2::timestamptz
  from gone g order by g.id
  returning 1`);
