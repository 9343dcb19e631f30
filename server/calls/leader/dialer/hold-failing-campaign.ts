import { statement, type Database } from "../../../lib/database/database.ts";
import type { Call } from "../../state-machine/call.ts";

// A statement that waits for the lock sees the campaign as of before; the next one sees whether it has ended.
const lockCampaign = statement(
  "select from voice_campaigns where account_id = $1 and id = $2 for no key update",
);

const hold = statement(`
  with held as (
    insert into voice_holds (account_id, campaign_id, reason, detail, set_at)
    select $1::bigint, v.id, 'error_threshold', $3, $4 from voice_campaigns v
    where v.account_id = $1 and v.id = $2 and v.state = 'running'
    on conflict do nothing returning campaign_id
  )
  insert into events (account_id, type, occurred_at, data)
  select $1::bigint, 'voice.campaign.paused', $4, json_build_object('campaign_id', v.id,
    'id', v.public_id, 'name', v.name, 'paused_reason', 'error_threshold', 'detail', $3::text)
  from held h join voice_campaigns v on v.account_id = $1 and v.id = h.campaign_id`);

/**
 * Pauses a running campaign and records the event; has no effect if it has this hold already, or has ended, because
 * nothing would remove the hold.
 */
export async function holdFailingCampaign(
  { query }: Pick<Database, "query">,
  { account_id, campaign_id }: Pick<Call, "account_id" | "campaign_id">,
  detail: string,
  now: Date,
): Promise<void> {
  await query.transaction().execute(async (tx) => {
    await lockCampaign(tx, [account_id, campaign_id]);
    await hold(tx, [account_id, campaign_id, detail, now]);
  });
}
