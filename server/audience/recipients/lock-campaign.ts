import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { CampaignKey } from "./campaign-key.ts";

type OpenState = "scheduled" | "running";

/**
 * Locks a campaign that has not ended and returns the given columns. Refuses: not-found; conflict, with
 * `done` as the rejected change.
 *
 * Every transaction that creates, controls or ends a campaign locks in this order: campaign row (several
 * by id), holds, recipients, counts; then it writes jobs, events and the audit entry; last, what the whole
 * account shares: callback endpoints and the credit balance.
 */
export async function lockCampaign<Row>(
  tx: Tx,
  table: "chat_campaigns" | "voice_campaigns",
  columns: readonly (keyof Row & string)[],
  { account_id, campaign_id, done }: CampaignKey & { readonly done: string },
): Promise<Row & { readonly state: OpenState }> {
  const { rows } = await sql<Row & { readonly state: string }>`
    select state, ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)}
    where account_id = ${account_id} and id = ${campaign_id}
    for no key update`.execute(tx);
  const [campaign] = rows;
  if (!campaign) throw notFound();
  const { state } = campaign;
  if (state !== "scheduled" && state !== "running")
    throw new Refusal("conflict", `The campaign is ${state} and cannot be ${done}`);
  return { ...campaign, state };
}
