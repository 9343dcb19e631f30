// Moves open campaigns from a trunk that became unusable to another trunk.
import { chooseTrunk, findTrunks } from "../../telephony/trunks/choose-trunk.ts";
import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";

/**
 * Runs one iteration: moves each open campaign whose trunk was deleted, is inactive, is on no active node
 * or is reserved for another account. Returns 0, because campaigns without an alternative cannot be retried sooner.
 */
export async function moveStrandedCampaigns(app: App): Promise<number> {
  for (const { account_id, id, trunk_id } of await findStranded(app.db.pool, [])) {
    const chosen = chooseTrunk(await findTrunks(app.db.pool, [account_id, null]), app.random());
    if (!chosen) continue;
    const values = [account_id, id, trunk_id, chosen.trunk_id];
    if ((await moveCampaign(app.db.pool, values)).length === 0) continue;
    app.log.info(
      { account_id, campaign_id: id, trunk_id: chosen.trunk_id },
      "voice campaign moved to another trunk",
    );
    app.notifications.send("voice_work", String(chosen.trunk_id));
  }
  return 0;
}

// The conditions are those of findTrunks.
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
