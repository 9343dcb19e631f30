import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { NumberAssignment, PhoneNumberResponse } from "./phone-number-schema.ts";

type PageQuery = { readonly limit?: number; readonly cursor?: string };

type Row = {
  readonly number: string;
  readonly account_id: number;
  readonly assigned_at: Date;
  readonly menu_id: number | null;
  readonly agent_group_id: number | null;
};

type Page<Item> = { data: Item[]; next_cursor: string | null };

/** Returns a page of the account's phone numbers with their routes, in order. */
export async function listPhoneNumbers(
  db: Kysely<DB>,
  account_id: number,
  query: PageQuery,
): Promise<Page<PhoneNumberResponse>> {
  return listRows(db, { ...query, account_id }, phoneNumberResponse);
}

/** Returns one phone number of the account. Refuses: not-found. */
export async function readPhoneNumber(
  db: Kysely<DB>,
  accountId: number,
  number: string,
): Promise<PhoneNumberResponse> {
  const row = await db
    .selectFrom("phone_numbers")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("number", "=", number)
    .executeTakeFirst();
  if (!row) throw notFound();
  return phoneNumberResponse(row);
}

/** Returns a page of the installation's phone numbers with their accounts, or of one account. */
export async function listNumberAssignments(
  db: Kysely<DB>,
  query: PageQuery & { readonly account_id?: number },
): Promise<Page<NumberAssignment>> {
  return listRows(db, query, assignmentResponse);
}

async function listRows<Item>(
  db: Kysely<DB>,
  { limit = 50, cursor, account_id }: PageQuery & { readonly account_id?: number },
  responseOf: (row: Row) => Item,
): Promise<Page<Item>> {
  let query = db.selectFrom("phone_numbers").selectAll();
  if (account_id !== undefined) query = query.where("account_id", "=", knownId(account_id));
  if (cursor !== undefined) query = query.where("number", ">", String(decodeCursor(cursor)));
  const found = await query
    .orderBy("number")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(
    found.map((row) => ({ id: Number(row.number), row })),
    limit,
  );
  return { data: rows.map(({ row }) => responseOf(row)), next_cursor: next };
}

/** Converts a row to its API representation for operators. */
export function assignmentResponse({ number, account_id, assigned_at }: Row): NumberAssignment {
  return { number, account_id, assigned_at: assigned_at.toISOString() };
}

/** Converts a row to its API representation for its account. */
export function phoneNumberResponse(row: Row): PhoneNumberResponse {
  const { number, menu_id, agent_group_id, assigned_at } = row;
  return { number, menu_id, agent_group_id, assigned_at: assigned_at.toISOString() };
}
