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

export type Dialer = {
  /** Campaigns may have somebody to call that had nobody before. */
  hear(): void;
  /** A turn for each campaign: whether anybody was called, and when the pace lets the next one go. */
  dial(): Promise<{ readonly placed: boolean; readonly next_in_ms: number }>;
};

export function openDialer(leader: Leader, limits: NodeLimits): Dialer {
  /** With somebody to call, in turn, by account and id. */
  const due = new Map<string, DialableCampaign>();
  let may_be_more = true;

  return {
    hear() {
      may_be_more = true;
    },
    async dial() {
      if (may_be_more) {
        may_be_more = false;
        await findDue(leader, due);
      }
      let placed = false;
      let next_in_ms = Infinity;
      for (const [key, campaign] of Array.from(due)) {
        due.delete(key);
        const trunk = leader.trunks.get(campaign.trunk_id);
        if (!trunk || !mayDial(leader, campaign, trunk)) continue;
        const room = roomOn(leader, limits, trunk);
        next_in_ms = Math.min(next_in_ms, room.next_in_ms);
        const calls =
          room.take > 0 &&
          (await inTurn(leader, () => claimSome(leader, campaign, trunk, room.take)));
        if (calls) placed = true;
        // Behind all others; one that has nobody left is looked for again at the next poll.
        if (calls === false || calls === room.take) due.set(key, campaign);
      }
      return { placed, next_in_ms };
    },
  };
}

/** Those that are known keep their turn. */
async function findDue(leader: Leader, due: Map<string, DialableCampaign>): Promise<void> {
  const { app, trunks } = leader;
  const found = await findDialable(app.db.pool, [[...trunks.keys()], app.clock.now()]);
  const keyed = new Map(found.map((one) => [`${one.account_id}:${one.campaign_id}`, one]));
  for (const key of due.keys()) if (!keyed.has(key)) due.delete(key);
  for (const [key, campaign] of keyed) due.set(key, campaign);
}

function mayDial(leader: Leader, campaign: DialableCampaign, trunk: TrunkShare): boolean {
  return isOpenTo(trunk, campaign) && mayCallAt(campaign, leader.app.clock.now());
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
