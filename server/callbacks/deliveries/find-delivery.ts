import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { callbackBody, callbackQuery } from "../endpoints/callback-body.ts";
import { findDeliveryRecord } from "./deliveries.ts";
import { attempts_shown_max, type DeliveryDetail } from "./delivery-schema.ts";

/** Returns one delivery with its content and its attempts. Refuses: not-found. */
export async function findDelivery(
  db: Kysely<DB>,
  accountId: number,
  id: number,
): Promise<DeliveryDetail> {
  const record = await findDeliveryRecord(db, accountId, id);
  const content = await findContent(db, accountId, id);
  // Deleted since the first query.
  if (!content) throw notFound();
  const { url, ...event } = content;
  return {
    ...record,
    url,
    body: record.method === "GET" ? callbackQuery(event) : callbackBody(event),
    all_attempts: await findAttempts(db, accountId, id),
  };
}

async function findContent(db: Kysely<DB>, accountId: number, id: number) {
  const row = await db
    .selectFrom("callback_deliveries as d")
    .innerJoin("callback_endpoints as c", (join) =>
      join.onRef("c.account_id", "=", "d.account_id").onRef("c.id", "=", "d.endpoint_id"),
    )
    .innerJoin("events as e", (join) =>
      join.onRef("e.account_id", "=", "d.account_id").onRef("e.id", "=", "d.event_id"),
    )
    .select(["c.url", "e.type", "e.occurred_at", "e.data"])
    .where("d.account_id", "=", accountId)
    .where("d.id", "=", id)
    .executeTakeFirst();
  return row && { ...row, data: row.data as Record<string, unknown> };
}

async function findAttempts(db: Kysely<DB>, accountId: number, id: number) {
  const attempts = await db
    .selectFrom("callback_attempts")
    .select(["at", "duration_ms", "status", "error", "response"])
    .where("account_id", "=", accountId)
    .where("delivery_id", "=", id)
    .orderBy("id", "desc")
    .limit(attempts_shown_max)
    .execute();
  return attempts.toReversed().map((attempt) => ({ ...attempt, at: attempt.at.toISOString() }));
}
