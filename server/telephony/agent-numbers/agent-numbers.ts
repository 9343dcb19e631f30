// The phones that an account may ring as agents over trunks that require it.
import type { Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { phone_reason, readPersonPhone } from "../../audience/intake/read-person-phone.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, notFound } from "../../lib/errors.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import type { AgentNumberResponse, NewAgentNumber } from "./agent-number-schema.ts";

type Row = { readonly number: string; readonly name: string | null; readonly created_at: Date };

const response = ({ number, name, created_at }: Row): AgentNumberResponse => ({
  number,
  name,
  created_at: created_at.toISOString(),
});

/** Returns a page of the account's agent numbers, in order. */
export async function listAgentNumbers(
  db: Kysely<DB>,
  accountId: number,
  { limit = 50, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<{ data: AgentNumberResponse[]; next_cursor: string | null }> {
  let query = db.selectFrom("agent_numbers").selectAll().where("account_id", "=", accountId);
  if (cursor !== undefined) query = query.where("phone_key", ">", String(decodeCursor(cursor)));
  const found = await query
    .orderBy("phone_key")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(
    found.map((row) => ({ ...row, id: Number(row.phone_key) })),
    limit,
  );
  return { data: rows.map(response), next_cursor: next };
}

/** Adds a number. Refuses: validation-failed (number: invalid, or there already in any spelling). */
export async function addAgentNumber(
  tx: Tx,
  actor: Actor,
  countryCode: string,
  wanted: NewAgentNumber,
  now: Date,
): Promise<AgentNumberResponse> {
  const number = readPersonPhone(wanted.number, countryCode);
  if (number === null) throw invalidField("number", phone_reason);
  const { account_id } = actor;
  const phone_key = phoneKey(number);
  const added = await tx
    .insertInto("agent_numbers")
    .values({ account_id, phone_key, number, name: wanted.name ?? null, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!added) throw invalidField("number", "is an agent's number of this account already");
  await recordAudit(tx, actor, { at: now, action: "agent_number.added", subject_id: phone_key });
  return response(added);
}

/** Removes a number, in any spelling; calls that were submitted before are still placed. Refuses: not-found. */
export async function removeAgentNumber(
  tx: Tx,
  actor: Actor,
  number: string,
  now: Date,
): Promise<void> {
  const phone_key = phoneKey(number);
  const removed = await tx
    .deleteFrom("agent_numbers")
    .where("account_id", "=", actor.account_id)
    .where("phone_key", "=", phone_key)
    .returning("phone_key")
    .executeTakeFirst();
  if (!removed) throw notFound();
  await recordAudit(tx, actor, { at: now, action: "agent_number.removed", subject_id: phone_key });
}
