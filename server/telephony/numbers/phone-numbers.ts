import type { Kysely } from "kysely";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { NumberAssignment, PhoneNumberResponse } from "./phone-number-schema.ts";

type PageQuery = { readonly limit?: number; readonly cursor?: string };

/** Returns a page of the account's phone numbers, in order. */
export async function listPhoneNumbers(
  db: Kysely<DB>,
  accountId: number,
  query: PageQuery,
): Promise<{ data: PhoneNumberResponse[]; next_cursor: string | null }> {
  const { data, next_cursor } = await listNumberAssignments(db, {
    ...query,
    account_id: accountId,
  });
  return { data: data.map(phoneNumberResponse), next_cursor };
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
  return phoneNumberResponse(assignmentResponse(row));
}

/** Returns a page of the installation's phone numbers with their accounts, or of one account. */
export async function listNumberAssignments(
  db: Kysely<DB>,
  { limit = 50, cursor, account_id }: PageQuery & { readonly account_id?: number },
): Promise<{ data: NumberAssignment[]; next_cursor: string | null }> {
  let query = db.selectFrom("phone_numbers").selectAll();
  if (account_id !== undefined) query = query.where("account_id", "=", account_id);
  if (cursor !== undefined) query = query.where("number", ">", String(decodeCursor(cursor)));
  const found = await query
    .orderBy("number")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(
    found.map((row) => ({ id: Number(row.number), row })),
    limit,
  );
  return { data: rows.map(({ row }) => assignmentResponse(row)), next_cursor: next };
}

/** Converts a row to its API representation for operators. */
export function assignmentResponse(row: {
  number: string;
  account_id: number;
  assigned_at: Date;
}): NumberAssignment {
  const { number, account_id, assigned_at } = row;
  return { number, account_id, assigned_at: assigned_at.toISOString() };
}

function phoneNumberResponse({ number, assigned_at }: NumberAssignment): PhoneNumberResponse {
  return { number, assigned_at };
}
