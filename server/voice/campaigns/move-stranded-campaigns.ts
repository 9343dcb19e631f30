// Campaigns outlive the trunk they were launched over.
import { chooseTrunk, findTrunks } from "../../telephony/trunks/choose-trunk.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";

/**
 * A turn: an open campaign whose trunk is gone, switched off, on no active node, or no longer its
 * account's to use, goes on over another one. Returns 0: what is left has nowhere to go.
 */
export async function moveStrandedCampaigns(app: App): Promise<number> {
  for (const { account_id, id, trunk_id } of await findStranded(app.db.pool, [])) {
    const chosen = chooseTrunk(await findTrunks(app.db.pool, [account_id, null]), app.random());
    if (!chosen) continue;
    const values = [account_id, id, trunk_id, chosen.trunk_id];
    if ((await moveCampaign(app.db.pool, values)).length === 0) continue;
    app.log.info({ account_id, campaign_id: id, trunk_id: chosen.trunk_id }, "a campaign moved");
    app.notifications.send("voice_work", String(chosen.trunk_id));
  }
  return 0;
}

// As findTrunks finds them.
const findStranded = statement<{ account_id: number; id: number; trunk_id: number }>(`
  select v.account_id, v.id, v.trunk_id from voice_campaigns v
  where v.finished_at is null and v.state in ('scheduled', 'running')
    and not exists (
      select from trunks t
      join trunk_nodes s on s.trunk_id = t.id
      join voice_nodes n on n.id = s.node_id
      where t.id = v.trunk_id and t.active and n.active
        and (t.only_account_id is null or t.only_account_id = v.account_id))
  order by v.account_id, v.id`);

const moveCampaign = statement<{ id: number }>(`
  update voice_campaigns set trunk_id = $4
  where account_id = $1 and id = $2 and trunk_id = $3 and finished_at is null
  returning id`);
