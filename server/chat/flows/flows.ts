import { sql, type Kysely } from "kysely";
import { readBounded } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import {
  flow_columns,
  flowResponse,
  type FlowResponse,
  type FlowKind,
  type FlowRow,
} from "./flow-schema.ts";

/** Returns a page of the account's flows of a kind, ordered by ID. */
export async function listFlows(
  db: Kysely<DB>,
  kind: FlowKind,
  accountId: number,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: FlowResponse[]; next_cursor: string | null }> {
  let query = flowRows(db, kind, accountId);
  if (cursor !== undefined) query = query.where(sql<boolean>`id > ${decodeId(kind, cursor)}`);
  const found = await readBounded<FlowRow>(db, query.orderBy("id").limit(limit + 1), {
    large: ["opening"],
    order: "id",
  });
  const data = found.rows.slice(0, limit).map(flowResponse);
  const more = found.rows.length > limit || found.isCut;
  return { data, next_cursor: more ? encodeId(data.at(-1)!.id) : null };
}

/** Returns one flow of the account. Errors: not-found. */
export async function findFlow(
  db: Kysely<DB>,
  kind: FlowKind,
  accountId: number,
  flowId: number | string,
): Promise<FlowResponse> {
  const row = await flowRows(db, kind, accountId)
    .where(sql<boolean>`id = ${flowId}`)
    .executeTakeFirst();
  if (!row) throw notFound();
  return flowResponse(row);
}

function flowRows(db: Kysely<DB>, kind: FlowKind, accountId: number) {
  return db.selectFrom(flowTable(kind)).select(flow_columns).where("account_id", "=", accountId);
}

/**
 * Both tables have the same columns and types except the ID, so one type serves Kysely for both.
 */
export function flowTable(kind: FlowKind): "chat_flows" {
  return kind as "chat_flows";
}

function encodeId(id: number | string): string {
  return Buffer.from(String(id)).toString("base64url");
}

function decodeId(kind: FlowKind, cursor: string): string {
  const id = Buffer.from(cursor, "base64url").toString();
  const shape =
    kind === "chat_flows" ? /^[1-9]\d{0,15}$/ : /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  if (!shape.test(id)) throw invalidField("cursor", "is not a cursor of this list");
  return id;
}
