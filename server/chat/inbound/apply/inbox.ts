// Reads chat_inbox: the numbers with due webhooks, and the next batch of a number.
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { parseJson } from "../../../lib/json-body.ts";

/** A number of an account; 0 stands for account-level webhooks. */
export type InboxNumber = { readonly account_id: number; readonly chat_number_id: number };

/** A row: webhooks that arrived together. */
export type StoredWebhooks = {
  readonly id: number;
  readonly driver: ChatDriverName;
  /** Each parsed, for the driver's readWebhook. */
  readonly body: readonly unknown[];
  readonly received_at: Date;
};

/** Limits a batch, so that its statement takes well below a second and little memory. */
const batch_rows_max = 200;
const batch_bytes_max = 2_000_000;

/** Returns all numbers with due webhooks: one index scan, which is short without a backlog. */
export async function dueNumbers(app: App): Promise<InboxNumber[]> {
  return findDue(app.db.pool, [app.clock.now()]);
}

/** Returns the next batch of a number, in the order of application. */
export async function readInbox(app: App, number: InboxNumber): Promise<StoredWebhooks[]> {
  const { account_id, chat_number_id } = number;
  const values = [account_id, chat_number_id, app.clock.now(), batch_rows_max, batch_bytes_max];
  const rows = await readDue(app.db.pool, values);
  return rows.map((row) => ({ ...row, body: parseJson(row.body) as unknown[] }));
}

const findDue = statement<InboxNumber>(
  "select distinct account_id, chat_number_id from chat_inbox where due_at <= $1 order by 1, 2",
);

// Always the first row, however long it is.
const readDue = statement<Omit<StoredWebhooks, "body"> & { readonly body: string }>(`
  select id, driver, body::text as body, received_at from (
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
