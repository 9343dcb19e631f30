// Counts the messages of chat campaigns for reports: those of earlier versions once, and all again on request. Later
// changes are counted in their own transactions (chat_report_counts).
import type { App } from "../engine/app.ts";
import { clientTransaction } from "../lib/database/client-transaction.ts";
import { isDatabaseUnavailable, isOfOneStatement } from "../lib/database/database-errors.ts";
import { statement } from "../lib/database/database.ts";

const campaigns_max = 500;
/** Enough for a campaign of millions of recipients. */
const seconds_max = 60;

/** Counts campaigns that are not counted yet, any account's, and returns how many. Any number of processes may run it. */
export async function countDueCampaigns(
  app: Pick<App, "db" | "log">,
  stopping: AbortSignal,
): Promise<number> {
  const due = await findUncounted(app.db.pool, [campaigns_max]);
  let counted = 0;
  for (const { account_id, id } of due) {
    if (stopping.aborted) break;
    try {
      await countCampaign(app, account_id, id);
      counted++;
    } catch (err) {
      if (isDatabaseUnavailable(err) && !isOfOneStatement(err)) throw err;
      app.log.error(
        { err, account_id, campaign_id: id },
        "could not count the campaign for reports",
      );
    }
  }
  return counted;
}

/** Counts the account's campaigns again from their recipients and replies, but for purged ones. Returns how many. */
export async function rebuildMessageCounts(
  app: Pick<App, "db">,
  account_id: number,
): Promise<number> {
  let counted = 0;
  let page = await findCampaigns(app.db.pool, [account_id, 0, campaigns_max]);
  while (page.length > 0) {
    for (const { id } of page) await countCampaign(app, account_id, id);
    counted += page.length;
    page = await findCampaigns(app.db.pool, [account_id, page.at(-1)!.id, campaigns_max]);
  }
  return counted;
}

async function countCampaign(
  { db }: Pick<App, "db">,
  account_id: number,
  campaign_id: number,
): Promise<void> {
  await clientTransaction(db, seconds_max, (tx) => count(tx, [account_id, campaign_id]));
}

const count = statement("select count_chat_campaign($1, $2)");

const findUncounted = statement<{ account_id: number; id: number }>(`
  select account_id, id from chat_campaigns where not report_counted order by account_id, id limit $1`);

const findCampaigns = statement<{ id: number }>(`
  select id from chat_campaigns
  where account_id = $1 and id > $2 and (purged_at is null or not report_counted)
  order by id limit $3`);
