import { sql } from "kysely";
import type { CampaignKey } from "../../../audience/recipients/campaign-key.ts";
import type { Rejects } from "../../../audience/intake/open-intake.ts";
import type { Tx } from "../../../lib/database/database.ts";
import type { RecipientTerms, VoiceRecipient } from "./recipient-format.ts";

/** Stores recipients in their order, in one statement; for lists short enough not to need COPY. */
export async function insertRecipients(
  tx: Tx,
  { account_id, campaign_id, state, due_at }: RecipientTerms,
  recipients: readonly VoiceRecipient[],
): Promise<void> {
  const numbers = recipients.map(({ number }) => number);
  const phones = recipients.map(({ phone }) => phone);
  const variables = recipients.map((recipient) => recipient.variables);
  await sql`
    insert into voice_recipients (account_id, campaign_id, state, due_at, id, number, phone, variables)
    select ${account_id}::bigint, ${campaign_id}::bigint, ${state}, ${due_at}::timestamptz,
      position, number, phone, variables::json
    from unnest(${numbers}::text[], ${phones}::text[], ${variables}::text[])
      with ordinality as sent (number, phone, variables, position)
    order by position`.execute(tx);
}

/** Stores the rejected rows with their reasons. */
export async function insertRejects(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
  { rows, values, reasons }: Rejects,
): Promise<void> {
  if (rows.length === 0) return;
  await sql`
    insert into voice_rejects (account_id, campaign_id, row, value, reason)
    select ${account_id}::bigint, ${campaign_id}::bigint, row, value, reason
    from unnest(${rows}::int[], ${values}::text[], ${reasons}::text[]) as sent (row, value, reason)
    order by row`.execute(tx);
}
