// Reads chat_inbox: the numbers with due webhooks, and the next batch of a number.
import type { ChatDriverName } from "../../../drivers/chat/driver.ts";
import type { App } from "../../../engine/app.ts";
import { isUnfrozen } from "../../../engine/poll-work.ts";
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

/**
 * Returns all numbers with due webhooks, but for those of frozen accounts: one index scan, which is short without a
 * backlog. The first number of each account comes before the second of any; among these, those with urgent webhooks
 * first, then the longest waiting.
 */
export async function dueNumbers(app: App): Promise<InboxNumber[]> {
  return findDue(app.db.pool, [app.clock.now()]);
}

/** As dueNumbers, for urgent webhooks alone, such as opt-outs; takes milliseconds also beside a million others. */
export async function urgentNumbers(app: App): Promise<InboxNumber[]> {
  return findUrgent(app.db.pool, []);
}

/** Returns the next batch of a number, in the order of application, and whether more is due. */
export async function readInbox(
  app: App,
  number: InboxNumber,
): Promise<{ readonly rows: readonly StoredWebhooks[]; readonly hasMore: boolean }> {
  const { account_id, chat_number_id } = number;
  const values = [account_id, chat_number_id, app.clock.now(), batch_rows_max, batch_bytes_max];
  const found = await readDue(app.db.pool, values);
  const rows = found.map(({ id, driver, body, received_at }) => {
    return { id, driver, body: parseJson(body) as unknown[], received_at };
  });
  const due_rows = found[0]?.due_rows ?? 0;
  return { rows, hasMore: due_rows > rows.length || due_rows === batch_rows_max };
}

const findDue = statement<InboxNumber>(`
  select account_id, chat_number_id from (
    select account_id, chat_number_id, min(due_at) as due_at,
      row_number() over (partition by account_id order by min(due_at)) as place
    from chat_inbox where due_at <= $1 group by account_id, chat_number_id
  ) due
  where ${isUnfrozen("due")}
  order by place, due_at, account_id`);

// Not the statement above with another time: a plan for any time reads the whole table.
const findUrgent = statement<InboxNumber>(`
  select distinct i.account_id, i.chat_number_id from chat_inbox i
  where i.due_at = '-infinity' and ${isUnfrozen("i")}`);

type DueRow = Omit<StoredWebhooks, "body"> & { readonly body: string; readonly due_rows: number };

// Always the first row, however long it is. due_rows: how many there are without the limit of bytes.
const readDue = statement<DueRow>(`
  select id, driver, body::text as body, received_at, due_rows from (
    select id, driver, body, received_at, due_at, count(*) over () as due_rows,
      sum(octet_length(body::text)) over (order by due_at, id) - octet_length(body::text) as bytes_before
    from (
      select * from chat_inbox
      where account_id = $1 and chat_number_id = $2 and due_at <= $3
      order by due_at, id limit $4
    ) due
  ) measured
  where bytes_before = 0 or bytes_before < $5
  order by due_at, id`);
