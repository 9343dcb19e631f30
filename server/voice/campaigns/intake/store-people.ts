import { sql } from "kysely";
import type pg from "pg";
import type { Tx } from "../../../lib/database/database.ts";
import { openCopy } from "../../../lib/database/open-copy.ts";
import type { Rejects } from "./open-intake.ts";
import { copy_sql, type RecipientRows, type RecipientTerms } from "./sinks.ts";

/** Stores a few recipients, in their order, in one statement. */
export async function storeRows(
  tx: Tx,
  { account_id, campaign_id, state, due_at }: RecipientTerms,
  { numbers, phones, variables }: RecipientRows,
): Promise<void> {
  await sql`
    insert into voice_recipients (account_id, campaign_id, state, due_at, id, number, phone, variables)
    select ${account_id}::bigint, ${campaign_id}::bigint, ${state}, ${due_at}::timestamptz,
      position, number, phone, variables::json
    from unnest(${numbers}::text[], ${phones}::text[], ${variables}::text[])
      with ordinality as sent (number, phone, variables, position)
    order by position`.execute(tx);
}

/** Stores recipients that are lines of COPY already, on the transaction's own connection. */
export async function storeLines(
  client: pg.PoolClient,
  chunks: AsyncIterable<Uint8Array>,
  seconds_max: number,
): Promise<void> {
  const copy = openCopy(client, copy_sql, seconds_max);
  try {
    for await (const chunk of chunks) await copy.write(chunk);
    await copy.end();
  } finally {
    await copy.abandon();
  }
}

/** Stores who was left out, and why. */
export async function storeRejects(
  tx: Tx,
  { account_id, campaign_id }: Pick<RecipientTerms, "account_id" | "campaign_id">,
  { rows, values, reasons }: Rejects,
): Promise<void> {
  if (rows.length === 0) return;
  await sql`
    insert into voice_rejects (account_id, campaign_id, row, value, reason)
    select ${account_id}::bigint, ${campaign_id}::bigint, row, value, reason
    from unnest(${rows}::int[], ${values}::text[], ${reasons}::text[]) as sent (row, value, reason)
    order by row`.execute(tx);
}
