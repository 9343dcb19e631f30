// The dialer: calls campaigns' recipients over the node's trunks, as many as there are slots, a few of each
// account in rotation.
import { mayCallCustomerAt } from "../../../accounts/accounts/calling-window.ts";
import { splitTimeZones } from "../../../lib/phone-time-zones/phone-time-zones.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import type { Call } from "../../state-machine/call.ts";
import type { Command } from "../../state-machine/events-and-commands.ts";
import { callSpan } from "../node/call-span.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import {
  claimRecipients,
  findDialable,
  type DialableCampaign,
  type DialPosition,
} from "../node/leader-statements.ts";
import type { NodeTrunk } from "../node/node-state.ts";
import { isTrunkAllowed } from "./call-blockers.ts";
import { executeCommands } from "../commands/execute-commands.ts";
import { carrier_sets_caller_id } from "./trunk-line.ts";
import { roomOn, serializeClaim, trackCall } from "./place-calls.ts";

export type Dialer = {
  /** Reloads the campaigns with due recipients before the next dial. */
  refresh(): void;
  /** Dials for each account once; returns whether it placed a call, and when the rate limit admits the next. */
  dial(): Promise<{ readonly placed: boolean; readonly next_in_ms: number }>;
};

/** The campaigns read first, and then at once: each page costs a search through all. */
const first_rows = 1_000;
const next_rows = 5_000;
/** A refresh ends once it has found this many accounts, or campaigns, that may be dialed. */
const accounts_max = 1_000;
const campaigns_max = 10_000;

export function openDialer(leader: Leader): Dialer {
  /** Campaigns with due recipients, rotating over accounts and over the campaigns of each. */
  let queue: readonly DialableCampaign[] = [];
  /** Those of which the last claim took no recipient, for example because the account is at a cap. */
  const unclaimed = new Set<string>();
  let is_stale = true;

  return {
    refresh() {
      is_stale = true;
    },
    async dial() {
      if (is_stale) {
        is_stale = false;
        queue = await findQueue(leader, queue, unclaimed);
        const keys = new Set(queue.map(keyOf));
        for (const key of unclaimed) if (!keys.has(key)) unclaimed.delete(key);
      }
      let next_in_ms = Infinity;
      const served = new Set<number>();
      const last = new Set<DialableCampaign>();
      const gone = new Set<DialableCampaign>();
      try {
        for (const campaign of queue) {
          const { account_id, trunk_id } = campaign;
          if (served.has(account_id)) continue;
          const trunk = leader.trunks.get(trunk_id);
          const room = trunk && roomOn(leader, trunk);
          if (room) next_in_ms = Math.min(next_in_ms, room.next_in_ms);
          if (room?.take === 0) continue;
          const take = Math.min(room?.take ?? 0, leader.gate.room(campaign));
          // The next poll finds a campaign again that has no due recipients or must not dial now.
          gone.add(campaign);
          const time_zones = openTimeZones(campaign, leader.app.clock.now());
          if (!trunk || take === 0 || !isTrunkAllowed(trunk, campaign) || time_zones.length === 0)
            continue;
          const claim = { ...campaign, time_zones, take };
          const calls = await serializeClaim(leader, () => claimSome(leader, claim, trunk));
          if (calls === 0) {
            unclaimed.add(keyOf(campaign));
            continue;
          }
          unclaimed.delete(keyOf(campaign));
          served.add(account_id);
          if (calls < room!.take) continue;
          gone.delete(campaign);
          last.add(campaign);
        }
      } finally {
        const left = queue.filter((campaign) => !gone.has(campaign));
        const rank = (campaign: DialableCampaign) =>
          Number(served.has(campaign.account_id)) + Number(last.has(campaign));
        queue = left.toSorted((one, other) => rank(one) - rank(other));
      }
      return { placed: served.size > 0, next_in_ms };
    },
  };
}

/** Keeps the order of known campaigns; puts a test call before the campaigns of its account. */
async function findQueue(
  leader: Leader,
  known: readonly DialableCampaign[],
  unclaimed: ReadonlySet<string>,
): Promise<DialableCampaign[]> {
  const found = await findCallable(leader, unclaimed);
  const left = new Map(found.map((one) => [keyOf(one), one]));
  const queue = known.flatMap((one) => left.get(keyOf(one)) ?? []);
  for (const one of queue) left.delete(keyOf(one));
  for (const one of left.values()) {
    const own = one.is_test
      ? queue.findIndex(({ account_id }) => account_id === one.account_id)
      : -1;
    queue.splice(own < 0 ? queue.length : own, 0, one);
  }
  return queue;
}

/**
 * Finds campaigns that may be dialed now. Accounts that wait for their hours, or of which nothing was claimed, do not
 * count toward the limit, because they would hide the others.
 */
async function findCallable(
  { app, trunks }: Leader,
  unclaimed: ReadonlySet<string>,
): Promise<DialableCampaign[]> {
  const now = app.clock.now();
  const trunkIds = [...trunks.keys()];
  const found: DialableCampaign[] = [];
  const accounts = new Set<number>();
  let rows = first_rows;
  let after: DialPosition | undefined = { place: 0, account_id: 0 };
  while (after && accounts.size < accounts_max && found.length < campaigns_max) {
    const of = { after, rows };
    const page: DialableCampaign[] = await findDialable(app.db.pool, trunkIds, of, now);
    for (const one of page) {
      const trunk = trunks.get(one.trunk_id);
      if (!trunk || !isTrunkAllowed(trunk, one) || !hasOpenTimeZones(one, now)) continue;
      found.push(one);
      if (!unclaimed.has(keyOf(one))) accounts.add(one.account_id);
    }
    after = page.length < rows ? undefined : page.at(-1);
    rows = next_rows;
  }
  return found;
}

function keyOf({ account_id, campaign_id }: DialableCampaign): string {
  return `${account_id}:${campaign_id}`;
}

/** Returns the lists of zones whose recipients may be called: the window is open in every zone of the list. */
function openTimeZones(campaign: DialableCampaign, at: Date): string[] {
  return campaign.due_time_zones.filter((zones) =>
    mayCallCustomerAt(campaign, splitTimeZones(zones), at),
  );
}

function hasOpenTimeZones(campaign: DialableCampaign, at: Date): boolean {
  return campaign.due_time_zones.some((zones) =>
    mayCallCustomerAt(campaign, splitTimeZones(zones), at),
  );
}

async function claimSome(
  leader: Leader,
  claim: DialableCampaign & { readonly time_zones: readonly string[]; readonly take: number },
  trunk: NodeTrunk,
): Promise<number> {
  const { app, node_id, lease } = leader;
  if (!lease.mayProceed()) return 0;
  const of = { ...claim, node_id, fence: lease.fence, caller_id: carrier_sets_caller_id };
  const calls = await claimRecipients(app.db.pool, of, app.clock.now());
  for (const call of calls) dial(leader, trackCall(leader, call, trunk), call);
  return calls.length;
}

/** Dials the leg that the claim has stored. */
function dial(leader: Leader, live: LiveCall, call: Call): void {
  const { customer: to, caller_id } = live.line;
  const ring_seconds = call.settings.customer_ring_seconds;
  const command: Command = { type: "dial", leg: 1, to, caller_id, ring_seconds };
  live.pending = live.pending.then(() =>
    traced("place call", callSpan(call), () => executeCommands(leader, live, [command])),
  );
}
