import { sql } from "kysely";
import type pg from "pg";
import type { Tx } from "../../lib/database.ts";
import { openCopy } from "../../lib/open-copy.ts";
import { copy_sql, stampLines } from "./recipient-lines.ts";

export type CampaignPlace = { readonly account_id: number; readonly campaign_id: number };

/** Stores a few recipients, in their order, in one statement. */
export async function storeRows(
  tx: Tx,
  { account_id, campaign_id }: CampaignPlace,
  phones: readonly string[],
  variables: readonly (string | null)[],
): Promise<void> {
  await sql`
    insert into chat_recipients (account_id, campaign_id, phone, variables)
    select ${account_id}::bigint, ${campaign_id}::bigint, phone, variables::jsonb
    from unnest(${phones}::text[], ${variables}::text[])
      with ordinality as sent (phone, variables, position)
    order by position`.execute(tx);
}

/** Stores recipients that are lines of COPY already, on the transaction's own connection. */
export async function storeLines(
  client: pg.PoolClient,
  { campaign_id }: CampaignPlace,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  seconds_max: number,
): Promise<void> {
  const copy = openCopy(client, copy_sql, seconds_max);
  try {
    for await (const chunk of chunks) await copy.write(stampLines(chunk, campaign_id));
    await copy.end();
  } finally {
    await copy.abandon();
  }
}

/** Takes out whom the account must not write to, and returns how many that were. */
export async function removeSuppressed(
  tx: Tx,
  { account_id, campaign_id }: CampaignPlace,
  now: Date,
): Promise<number> {
  // Most accounts have few suppressions, many none: then no recipient is looked up.
  const { rows } = await sql`
    select from suppressions
    where account_id = ${account_id} and channel in ('all', 'chat') limit 1`.execute(tx);
  if (rows.length === 0) return 0;
  const removed = await sql`
    delete from chat_recipients r using suppressions s
    where r.account_id = ${account_id} and r.campaign_id = ${campaign_id}
      and s.account_id = ${account_id} and s.phone = r.phone and s.channel in ('all', 'chat')
      and (s.expires_at is null or s.expires_at > ${now})`.execute(tx);
  return Number(removed.numAffectedRows ?? 0);
}
