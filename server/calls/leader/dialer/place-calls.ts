// Claims calls that are due, as many as the node and its trunks have slots for.
import { callName, type Call } from "../../state-machine/call.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { adoptCallsOfNode, claimCalls, type Claimed } from "../node/leader-statements.ts";
import { readNodeState, type NodeTrunk } from "../node/node-state.ts";
import { blockerAtClaim } from "./call-blockers.ts";
import { resolveLine } from "./trunk-line.ts";

/** The most calls in one claim, so that no account's backlog delays the others. */
const claim_max = 20;

/** The result of placing an account's calls. */
export type Placed = {
  readonly calls: number;
  /** The trunks over which further calls of the account may be due. */
  readonly more: readonly number[];
  /** In how many ms the rate limit admits the next call; Infinity if no slot is free. */
  readonly next_in_ms: number;
};

/** Claims calls of the account once for each of these trunks that has free slots. */
export async function placeCalls(
  leader: Leader,
  account_id: number,
  trunkIds: Iterable<number>,
): Promise<Placed> {
  let calls = 0;
  const more: number[] = [];
  let next_in_ms = Infinity;
  for (const trunk_id of trunkIds) {
    const trunk = leader.trunks.get(trunk_id);
    // The node no longer has it.
    if (!trunk) continue;
    const room = roomOn(leader, trunk);
    if (room.take > 0) {
      const taken = await serializeClaim(leader, () =>
        claimSome(leader, account_id, trunk, room.take),
      );
      calls += taken;
      if (taken === room.take) more.push(trunk_id);
    } else {
      more.push(trunk_id);
      next_in_ms = Math.min(next_in_ms, room.next_in_ms);
    }
  }
  return { calls, more, next_in_ms };
}

/** Returns how many calls may be claimed over the trunk now, and when its rate limit admits the next. */
export function roomOn(
  leader: Leader,
  trunk: NodeTrunk,
): { readonly take: number; readonly next_in_ms: number } {
  const rates = [leader.leg_rate, leader.trunk_leg_rates.get(trunk.id)!];
  const on_trunk = callsOn(leader, trunk);
  const places = Math.min(leader.limits.calls_max - leader.calls.size, trunk.calls_max - on_trunk);
  const take = Math.min(claim_max, places, ...rates.map((rate) => rate.room()));
  const in_ms = Math.max(...rates.map((rate) => rate.nextInMs()));
  return { take: Math.max(0, take), next_in_ms: places > 0 ? in_ms : Infinity };
}

/** Whether the node is active and has, like the trunk, a place for an incoming call, which no rate limit delays. */
export function hasPlace(leader: Leader, trunk: NodeTrunk): boolean {
  const { calls, limits } = leader;
  return limits.active && calls.size < limits.calls_max && callsOn(leader, trunk) < trunk.calls_max;
}

function callsOn({ calls }: Leader, { id }: NodeTrunk): number {
  return [...calls.values()].filter(({ trunk }) => trunk.id === id).length;
}

/** Runs claims and adoptions one at a time: a call just claimed must not look orphaned. */
export function serializeClaim<Answer>(
  leader: Leader,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const done = leader.claiming.then(work);
  leader.claiming = Promise.allSettled([done]);
  return done;
}

async function claimSome(
  leader: Leader,
  account_id: number,
  trunk: NodeTrunk,
  take: number,
): Promise<number> {
  const { app, node_id, lease } = leader;
  if (!lease.mayProceed()) return 0;
  const of = { account_id, node_id, trunk_id: trunk.id, fence: lease.fence, take };
  const claimed = await claimCalls(app.db.pool, of, app.clock.now());
  for (const each of claimed) place(leader, each, trunk);
  return claimed.length;
}

function place(leader: Leader, claimed: Claimed, trunk: NodeTrunk): void {
  const live = trackCall(leader, claimed.call, trunk);
  const at = leader.app.clock.now();
  leader.dispatch(live, { type: "placed", blocker: blockerAtClaim(claimed, trunk, at), at });
}

/**
 * Adopts and returns calls of previous node leaders, and of claims whose result was lost. A call whose trunk was deleted
 * ends as lost.
 */
export function adoptOrphanedCalls(leader: Leader): Promise<LiveCall[]> {
  return serializeClaim(leader, async () => {
    const { app, node_id, lease } = leader;
    const known = [...leader.calls.values()].map(({ call }) => call);
    const adopted = await adoptCallsOfNode(app.db.pool, node_id, lease.fence, known);
    const trunks = await findTrunksOf(leader, adopted);
    return adopted.map((call) => {
      const trunk = trunks.get(call.trunk_id);
      const live = trackCall(leader, call, trunk ?? deletedTrunk(call.trunk_id), true);
      if (!trunk) leader.dispatch(live, { type: "trunk_deleted", at: app.clock.now() });
      return live;
    });
  });
}

/** Finds the calls' trunks: the last poll lacks one that an operator has removed from the node since the dial. */
async function findTrunksOf(
  { app, node_id, trunks }: Leader,
  calls: readonly Call[],
): Promise<ReadonlyMap<number, NodeTrunk>> {
  if (calls.every(({ trunk_id }) => trunks.has(trunk_id))) return trunks;
  const state = await readNodeState(app, node_id);
  return new Map(state?.limits.trunks.map((trunk) => [trunk.id, trunk]));
}

/** Returns what stands for a trunk that was deleted while its call was stored: no leg may be dialed over it. */
function deletedTrunk(id: number): NodeTrunk {
  return {
    id,
    endpoint: "",
    number_format: "e164",
    number_prefix: "",
    destinations: [],
    only_account_id: null,
    calls_per_second: 1,
    calls_max: 0,
  };
}

/** Starts handling a call over the trunk in this process. */
export function trackCall(leader: Leader, call: Call, trunk: NodeTrunk, adopted = false): LiveCall {
  const live: LiveCall = {
    call,
    unstored: null,
    line: resolveLine(call, trunk),
    trunk,
    // The IDs of legs are 1, 2, ….
    adopted_legs: adopted ? call.legs.length : 0,
    pending: Promise.resolve(),
    dialing: new Map(),
    missing: new Map(),
    ended: new Set(),
    needs_resume: false,
    credit_timer: null,
    ending_timer: null,
    duration_timer: null,
    wait_timer: null,
    playing: Promise.resolve(),
    prepared: null,
    conversation: null,
  };
  leader.calls.set(callName(call), live);
  return live;
}
