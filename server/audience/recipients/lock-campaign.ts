import { sql } from "kysely";
import type { Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import type { CampaignKey } from "./campaign-key.ts";

type OpenState = "scheduled" | "running";
type CampaignTable = "chat_campaigns" | "voice_campaigns";

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
  table: CampaignTable,
  columns: readonly (keyof Row & string)[],
  { account_id, campaign_id, done }: CampaignKey & { readonly done: string },
): Promise<Row & { readonly state: OpenState }> {
  const campaign = await lockRow<Row>(tx, table, columns, { account_id, campaign_id });
  const { state } = campaign;
  if (state !== "scheduled" && state !== "running")
    throw new Refusal("conflict", `The campaign is ${state} and cannot be ${done}`);
  return { ...campaign, state };
}

/**
 * Locks a campaign whose failed recipients can be retried: one that runs, or that has ended without being
 * cancelled. Returns its state and the given columns. Refuses: not-found; conflict for any other campaign, or when its recipients have been purged.
 */
export async function lockRetryableCampaign<Row>(
  tx: Tx,
  table: CampaignTable,
  columns: readonly (keyof Row & string)[],
  key: CampaignKey,
): Promise<Row & { readonly state: string }> {
  const ended = ["finished_at", "purged_at"] as const;
  const campaign = await lockRow<Row & Record<(typeof ended)[number], Date | null>>(
    tx,
    table,
    [...columns, ...ended],
    key,
  );
  const { state, finished_at, purged_at } = campaign;
  if (state !== "running" && state !== "completed" && state !== "failed")
    throw new Refusal("conflict", `The campaign is ${state} and cannot be retried`);
  if (state === "failed" && finished_at === null)
    throw new Refusal("conflict", "The campaign has failed and is still ending; retry it later");
  if (purged_at !== null)
    throw new Refusal("conflict", "The campaign's recipients have been purged");
  return campaign;
}

async function lockRow<Row>(
  tx: Tx,
  table: CampaignTable,
  columns: readonly (keyof Row & string)[],
  { account_id, campaign_id }: CampaignKey,
): Promise<Row & { readonly state: string }> {
  const { rows } = await sql<Row & { readonly state: string }>`
    select state, ${sql.join(columns.map((column) => sql.ref(column)))} from ${sql.table(table)}
    where account_id = ${account_id} and id = ${campaign_id}
    for no key update`.execute(tx);
  const [campaign] = rows;
  if (!campaign) throw notFound();
  return campaign;
}
