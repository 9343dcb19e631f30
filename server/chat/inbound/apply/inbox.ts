// What waits in chat_inbox: which numbers have some, and the next batch of one of them.
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";

/** A number of an account; 0 stands for the account's business accounts. */
export type ReportedNumber = { readonly account_id: number; readonly chat_number_id: number };

/** A row: webhooks that came together. */
export type StoredWebhooks = {
  readonly id: number;
  readonly driver: ChatDriverName;
  /** Each parsed, for the driver's readWebhook. */
  readonly body: readonly unknown[];
  readonly received_at: Date;
};

/** A batch's statement should take well below a second, and be parsed in little memory. */
const batch_rows_max = 200;
const batch_bytes_max = 2_000_000;

/** All numbers with something due: one look at the index, which is short unless there is a backlog. */
export async function dueNumbers(app: App): Promise<ReportedNumber[]> {
  return findDue(app.db.pool, [app.clock.now()]);
}

/** The next batch of a number, in the order to be applied in. */
export async function readInbox(app: App, number: ReportedNumber): Promise<StoredWebhooks[]> {
  const { account_id, chat_number_id } = number;
  const values = [account_id, chat_number_id, app.clock.now(), batch_rows_max, batch_bytes_max];
  return readDue(app.db.pool, values);
}

const findDue = statement<ReportedNumber>(
  "select distinct account_id, chat_number_id from chat_inbox where due_at <= $1 order by 1, 2",
);

// The first always, however long it is.
const readDue = statement<StoredWebhooks>(`
  select id, driver, body, received_at from (
    select id, driver, body, received_at, due_at,
      sum(octet_length(body::text)) over (order by due_at, id) - octet_length(body::text) as bytes_before
    from (
      select * from chat_inbox
      where account_id = $1 and chat_number_id = $2 and due_at <= $3
      order by due_at, id limit $4
    ) due
  ) measured
  where bytes_before = 0 or bytes_before < $5
  order by due_at, id`);
