// The dialer: calls the next recipients of the campaigns that run over the node's trunks, as many as there is
// room for, a few of each campaign in turn.
import { mayCallAt } from "../../accounts/calling-window.ts";
import type { Call } from "../life/call.ts";
import type { Act } from "../life/events-and-acts.ts";
import type { Leader, LiveCall } from "./leader.ts";
import {
  claimForCampaign,
  findDialable,
  type DialableCampaign,
  type NodeLimits,
  type TrunkShare,
} from "./leader-statements.ts";
import { isOpenTo } from "./obstacles.ts";
import { performAll } from "./perform.ts";
import { inTurn, roomOn, takeUp } from "./place-calls.ts";

/** Campaigns with somebody to call, in turn, by account and id. */
export type DueCampaigns = Map<string, DialableCampaign>;

/** Looks for campaigns with somebody to call just now; those that are known keep their turn. */
export async function findDueCampaigns(leader: Leader, due: DueCampaigns): Promise<void> {
  const { app, trunks } = leader;
  const now = app.clock.now();
  const found = await findDialable(app.db.pool, [[...trunks.keys()], now]);
  const keyed = new Map(found.map((one) => [`${one.account_id}:${one.campaign_id}`, one]));
  for (const key of due.keys()) if (!keyed.has(key)) due.delete(key);
  for (const [key, campaign] of keyed) {
    if (mayCallAt(campaign, now)) due.set(key, campaign);
    else due.delete(key);
  }
}

/** A turn for each campaign: whether anybody was called, and when the pace lets the next one go. */
export async function dialCampaigns(
  leader: Leader,
  limits: NodeLimits,
  due: DueCampaigns,
): Promise<{ readonly placed: boolean; readonly next_in_ms: number }> {
  let placed = false;
  let next_in_ms = Infinity;
  for (const [key, campaign] of [...due]) {
    const trunk = leader.trunks.get(campaign.trunk_id);
    if (!trunk || !isOpenTo(trunk, campaign) || !mayCallAt(campaign, leader.app.clock.now())) {
      due.delete(key);
      continue;
    }
    const room = roomOn(leader, limits, trunk);
    next_in_ms = Math.min(next_in_ms, room.next_in_ms);
    if (room.take === 0) continue;
    const calls = await inTurn(leader, () => claimSome(leader, campaign, trunk, room.take));
    // Behind all others; one that had nobody left is looked for again at the next poll.
    due.delete(key);
    if (calls === room.take) due.set(key, campaign);
    if (calls > 0) placed = true;
  }
  return { placed, next_in_ms };
}

async function claimSome(
  leader: Leader,
  { account_id, campaign_id }: DialableCampaign,
  trunk: TrunkShare,
  take: number,
): Promise<number> {
  const { app, node_id, lease } = leader;
  if (!lease.mayAct()) return 0;
  // Without a number of its own, the carrier puts one.
  const caller_id = trunk.caller_ids[0] ?? "0";
  const of = { account_id, campaign_id, node_id, fence: lease.fence, take, caller_id };
  const calls = await claimForCampaign(app.db.pool, of, app.clock.now());
  for (const call of calls) dial(leader, takeUp(leader, call, false), call);
  return calls.length;
}

/** What the claim has stored: the leg is about to be dialled. */
function dial(leader: Leader, live: LiveCall, call: Call): void {
  const { customer: to, caller_id } = live.line;
  const ring_seconds = call.settings.customer_ring_seconds;
  const act: Act = { do: "dial", leg: 1, to, caller_id, ring_seconds };
  live.turns = live.turns.then(() => performAll(leader, live, [act]));
}
