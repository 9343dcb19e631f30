// The deliveries of an account: one for each event and each endpoint that subscribes to it.
import { sql, type Kysely, type RawBuilder } from "kysely";
import { decodeCursor, isBelow, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { searches } from "../../lib/database/searches.ts";
import { webhookId } from "../endpoints/callback-body.ts";
import type { DeliveryRecord, DeliveryState } from "./delivery-schema.ts";

/** The filter of a list; `from` (inclusive) and `to` (exclusive) apply to a delivery's creation time. */
export type DeliveryFilter = {
  readonly endpoint_id?: number | undefined;
  readonly state?: DeliveryState | undefined;
  readonly type?: string | undefined;
  readonly webhook_id?: string | undefined;
  readonly call_id?: number | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

const order = { table: "callback_deliveries", alias: "d", time: "created_at" } as const;

/** Returns the account's deliveries that match the filter, newest first. */
export async function listDeliveries(
  db: Kysely<DB>,
  accountId: number,
  filter: DeliveryFilter,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: DeliveryRecord[]; next_cursor: string | null }> {
  const all = conditionsOf(accountId, filter);
  if (cursor !== undefined) all.push(isBelow(order, accountId, decodeCursor(cursor)));
  const found = await searches.use(accountId, () => findRows(db, accountId, all, limit + 1));
  const { rows, next } = page(found, limit);
  return { data: rows.map((row) => recordOf(accountId, row)), next_cursor: next };
}

/** Returns one delivery as lists show it. Refuses: not-found. */
export async function findDeliveryRecord(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<DeliveryRecord> {
  const [row] = await findRows(db, accountId, [sql`d.id = ${id}`], 1);
  if (!row) throw notFound();
  return recordOf(accountId, row);
}

type DeliveryRow = {
  id: number;
  endpoint_id: number;
  event_id: number;
  type: string;
  seq: number;
  call_id: number | null;
  method: DeliveryRecord["method"];
  state: DeliveryState;
  attempts: number;
  due_at: Date;
  created_at: Date;
  finished_at: Date | null;
  last_status: number | null;
  last_error: string | null;
};

/** Selects the page first, so that attempts are read only for the rows shown. */
async function findRows(
  db: Kysely<DB>,
  accountId: number,
  all: RawBuilder<unknown>[],
  limit: number,
): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`
    with page as materialized (
      select d.* from callback_deliveries d
      join callback_endpoints c on c.account_id = ${accountId} and c.id = d.endpoint_id
        and c.deleted_at is null
      where d.account_id = ${accountId} and ${sql.join(all, sql` and `)}
      order by d.created_at desc, d.id desc limit ${limit})
    select d.id, d.endpoint_id, d.event_id, d.type, d.seq, d.call_id, d.method, d.state, d.attempts,
      d.due_at, d.created_at, d.finished_at, a.status as last_status, a.error as last_error
    from page d
    left join lateral (
      select a.status, a.error from callback_attempts a
      where a.account_id = ${accountId} and a.delivery_id = d.id order by a.id desc limit 1) a on true
    order by d.created_at desc, d.id desc`.execute(db);
  return rows;
}

function conditionsOf(accountId: number, filter: DeliveryFilter): RawBuilder<unknown>[] {
  const { endpoint_id, state, type, webhook_id, call_id, from, to } = filter;
  const all: RawBuilder<unknown>[] = [sql`true`];
  if (endpoint_id !== undefined) all.push(sql`d.endpoint_id = ${knownId(endpoint_id)}`);
  // A literal, because the partial indexes by state do not match a parameter.
  if (state !== undefined) all.push(sql`d.state = ${sql.lit(state)}`);
  if (type !== undefined) all.push(sql`d.type = ${type}`);
  if (webhook_id !== undefined) all.push(sql`d.event_id = ${readWebhookId(accountId, webhook_id)}`);
  if (call_id !== undefined) all.push(sql`d.call_id = ${knownId(call_id)}`);
  if (from) all.push(sql`d.created_at >= ${from}`);
  if (to) all.push(sql`d.created_at < ${to}`);
  return all;
}

/** Returns the event's id, or 0 for another account's. Throws 422 when `text` is not a webhook-id. */
function readWebhookId(accountId: number, text: string): number {
  const [, account, event] = /^evt_(\d+)_(\d+)$/.exec(text) ?? [];
  if (event === undefined)
    throw invalidField("webhook_id", "must be a webhook-id such as evt_1_17");
  return Number(account) === accountId ? knownId(Number(event)) : 0;
}

function recordOf(accountId: number, { event_id, ...row }: DeliveryRow): DeliveryRecord {
  return {
    ...row,
    webhook_id: webhookId(accountId, event_id),
    due_at: row.state === "pending" ? row.due_at.toISOString() : null,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
