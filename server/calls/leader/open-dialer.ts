// The dialer: calls the next recipients of the campaigns that run over the node's trunks, as many as there is
// room for, a few of each account in turn.
import { mayCallAt } from "../../accounts/accounts/calling-window.ts";
import type { Call } from "../state-machine/call.ts";
import type { Command } from "../state-machine/events-and-commands.ts";
import type { Leader, LiveCall } from "./leader.ts";
import {
  claimForCampaign,
  findDialable,
  type DialableCampaign,
  type NodeLimits,
  type TrunkShare,
} from "./leader-statements.ts";
import { isTrunkAllowed } from "./call-blockers.ts";
import { executeCommands } from "./execute-commands.ts";
import { roomOn, serializeClaim, trackCall } from "./place-calls.ts";

export type Dialer = {
  /** Campaigns may have somebody to call that had nobody before. */
  hear(): void;
  /** A turn for each account: whether anybody was called, and when the pace lets the next one go. */
  dial(): Promise<{ readonly placed: boolean; readonly next_in_ms: number }>;
};

export function openDialer(leader: Leader, limits: NodeLimits): Dialer {
  /** With somebody to call: accounts in turn, and the campaigns of each in turn. */
  let line: readonly DialableCampaign[] = [];
  let may_be_more = true;

  return {
    hear() {
      may_be_more = true;
    },
    async dial() {
      if (may_be_more) {
        may_be_more = false;
        line = await findLine(leader, line);
      }
      let next_in_ms = Infinity;
      const served = new Set<number>();
      const last = new Set<DialableCampaign>();
      const gone = new Set<DialableCampaign>();
      try {
        for (const campaign of line) {
          const { account_id, trunk_id } = campaign;
          if (served.has(account_id)) continue;
          const trunk = leader.trunks.get(trunk_id);
          const room = trunk && roomOn(leader, limits, trunk);
          if (room) next_in_ms = Math.min(next_in_ms, room.next_in_ms);
          if (room?.take === 0) continue;
          // Who has nobody left, or cannot be claimed of, is looked for again at the next poll.
          gone.add(campaign);
          if (!trunk || !room || !mayDial(leader, campaign, trunk)) continue;
          const calls = await serializeClaim(leader, () =>
            claimSome(leader, campaign, trunk, room.take),
          );
          if (calls === 0) continue;
          served.add(account_id);
          if (calls < room.take) continue;
          gone.delete(campaign);
          last.add(campaign);
        }
      } finally {
        const left = line.filter((campaign) => !gone.has(campaign));
        const rank = (campaign: DialableCampaign) =>
          Number(served.has(campaign.account_id)) + Number(last.has(campaign));
        line = left.toSorted((one, other) => rank(one) - rank(other));
      }
      return { placed: served.size > 0, next_in_ms };
    },
  };
}

/** Those that are known keep their turn; a test goes before its account's campaigns, and before no other's. */
async function findLine(
  { app, trunks }: Leader,
  known: readonly DialableCampaign[],
): Promise<DialableCampaign[]> {
  const found = await findDialable(app.db.pool, [[...trunks.keys()], app.clock.now()]);
  const left = new Map(found.map((one) => [keyOf(one), one]));
  const line = known.flatMap((one) => left.get(keyOf(one)) ?? []);
  for (const one of line) left.delete(keyOf(one));
  for (const one of left.values()) {
    const own = line.findIndex(({ account_id }) => one.is_test && account_id === one.account_id);
    line.splice(own < 0 ? line.length : own, 0, one);
  }
  return line;
}

function keyOf({ account_id, campaign_id }: DialableCampaign): string {
  return `${account_id}:${campaign_id}`;
}

function mayDial(leader: Leader, campaign: DialableCampaign, trunk: TrunkShare): boolean {
  return isTrunkAllowed(trunk, campaign) && mayCallAt(campaign, leader.app.clock.now());
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
  for (const call of calls) dial(leader, trackCall(leader, call, false), call);
  return calls.length;
}

/** What the claim has stored: the leg is about to be dialed. */
function dial(leader: Leader, live: LiveCall, call: Call): void {
  const { customer: to, caller_id } = live.line;
  const ring_seconds = call.settings.customer_ring_seconds;
  const command: Command = { type: "dial", leg: 1, to, caller_id, ring_seconds };
  live.pending = live.pending.then(() => executeCommands(leader, live, [command]));
}
