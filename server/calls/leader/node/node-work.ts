// The loop of a node leader: reconciles with the switch, executes users' commands, places due calls.
import { restAfterPoll } from "../../../engine/rest-after-poll.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { reconcileCalls } from "./reconcile-calls.ts";
import { openDialer, type Dialer } from "../dialer/open-dialer.ts";
import { endLostCalls } from "./end-lost-calls.ts";
import { isNodeLost, type Leader } from "./leader.ts";
import { findWaiting } from "./leader-statements.ts";
import { readNodeState, type NodeLimits } from "./node-state.ts";
import { openLegRate } from "./leg-rate.ts";
import { executeUserCommands } from "../commands/execute-user-commands.ts";
import { adoptOrphanedCalls, placeCalls } from "../dialer/place-calls.ts";
import { resumeCall } from "../events/handle-event.ts";

/** Notifications may be lost: everything is polled this often. */
const poll_ms = 500;

/** How soon a failed reconciliation is repeated. */
const retry_ms = 500;

export type NodeWork = {
  /** Runs one iteration: does the due work, or sleeps until there may be some. */
  iterate(): Promise<void>;
  sleep(ms: number): Promise<void>;
  wake(): void;
  reconcileIn(ms: number): void;
  /** Calls of the account are queued over the trunk; null: over any. */
  notifyWork(accountId: number, trunkId: number | null): void;
  notifyCommand(): void;
  /** A campaign may have recipients to call. */
  notifyCampaigns(): void;
  /** An operator may have changed the node. */
  notifyChange(): void;
  /** Whether the node needs no leader any more, or one with another connection. */
  isOver(): boolean;
};

/** The trunks over which accounts have queued calls, in the order in which the accounts are served. */
type Waiting = Map<number, Set<number>>;

function addWaiting(waiting: Waiting, accountId: number, trunkIds: Iterable<number>): void {
  const known = waiting.get(accountId) ?? new Set();
  for (const id of trunkIds) known.add(id);
  waiting.set(accountId, known);
}

export function openNodeWork(leader: Leader): NodeWork {
  const { app, node_id, times } = leader;
  const waiting: Waiting = new Map();
  const dialer = openDialer(leader);
  let poll_at_ms = -Infinity;
  let reconcile_at_ms = Infinity;
  let has_commands = true;
  let is_over = false;
  let sleeping = Promise.withResolvers<void>();

  const poll = async () => {
    const began_ms = performance.now();
    poll_at_ms = began_ms + poll_ms;
    const state = await readNodeState(app, node_id);
    const took_ms = performance.now() - began_ms;
    const isIdle = !state?.has_commands && !state?.has_campaigns && !state?.has_calls;
    const rest_ms = await restAfterPoll(app.db, { took_ms, isIdle });
    // Not if the node was changed in the meantime.
    poll_at_ms += rest_ms;
    is_over = !applyLimits(leader, state?.limits ?? null);
    if (state?.has_commands) has_commands = true;
    if (state?.has_campaigns) dialer.refresh();
    if (!state?.has_calls) return;
    await refreshWaiting(leader, waiting);
  };
  const work: NodeWork = {
    async iterate() {
      sleeping = Promise.withResolvers<void>();
      if (performance.now() >= poll_at_ms) await poll();
      const hasLostCalls = isNodeLost(leader) && !leader.is_recorded_lost;
      if (hasLostCalls || performance.now() >= reconcile_at_ms) {
        reconcile_at_ms = performance.now() + times.reconcile_ms;
        await reconcile(leader);
      }
      if (has_commands) {
        has_commands = false;
        await executeUserCommands(leader);
      }
      const may_place = leader.is_connected && leader.limits.active && !leader.over.aborted;
      const { placed, next_in_ms } = may_place ? await placeAndDial(leader, waiting, dialer) : none;
      if (placed || is_over) return;
      await work.sleep(Math.min(next_in_ms, reconcile_at_ms - performance.now()));
    },
    sleep: (ms) => settledWithin(sleeping.promise, ms),
    wake: () => sleeping.resolve(),
    reconcileIn(ms) {
      reconcile_at_ms = Math.min(reconcile_at_ms, performance.now() + ms);
      work.wake();
    },
    notifyWork(accountId, trunkId) {
      addWaiting(waiting, accountId, trunkId === null ? leader.trunks.keys() : [trunkId]);
      work.wake();
    },
    notifyCommand() {
      has_commands = true;
      work.wake();
    },
    notifyCampaigns() {
      dialer.refresh();
      work.wake();
    },
    notifyChange() {
      poll_at_ms = -Infinity;
      work.wake();
    },
    isOver: () => is_over,
  };
  return work;
}

/** Brings calls in line with the switch, or ends them when the node is lost. Throws if that fails, and is run again soon. */
async function reconcile(leader: Leader): Promise<void> {
  try {
    for (const live of await adoptOrphanedCalls(leader)) live.needs_resume = true;
    if (leader.is_connected) await reconcileCalls(leader);
    else if (isNodeLost(leader)) await endLostCalls(leader);
  } catch (error) {
    leader.reconcileIn(retry_ms);
    throw error;
  }
  for (const live of leader.calls.values()) if (live.needs_resume) resumeCall(leader, live);
}

const none = { placed: false, next_in_ms: poll_ms };

/** Click-to-calls go first: an agent waits for them. */
async function placeAndDial(
  leader: Leader,
  waiting: Waiting,
  dialer: Dialer,
): Promise<typeof none> {
  const calls = await placeAll(leader, waiting);
  const dials = await dialer.dial();
  return {
    placed: calls.placed || dials.placed,
    next_in_ms: Math.min(calls.next_in_ms, dials.next_in_ms),
  };
}

/**
 * Places calls of each account once. An account that found no slot is first in the next iteration; one that
 * placed calls goes to the back. Returns whether any call was placed, and when the rate limit admits the next;
 * a slot that becomes free calls `wake`.
 */
async function placeAll(leader: Leader, waiting: Waiting): Promise<typeof none> {
  let { placed, next_in_ms } = none;
  const passed_over: (readonly [number, readonly number[]])[] = [];
  for (const [account_id, trunk_ids] of Array.from(waiting)) {
    // A notification in the meantime adds it again.
    waiting.delete(account_id);
    const { calls, more, ...next } = await placeCalls(leader, account_id, trunk_ids);
    if (calls > 0) placed = true;
    if (more.length > 0 && calls > 0) addWaiting(waiting, account_id, more);
    else if (more.length > 0) passed_over.push([account_id, more]);
    next_in_ms = Math.min(next_in_ms, next.next_in_ms);
  }
  const behind = Array.from(waiting);
  waiting.clear();
  for (const [account_id, trunk_ids] of [...passed_over, ...behind])
    addWaiting(waiting, account_id, trunk_ids);
  return { placed, next_in_ms };
}

async function refreshWaiting({ app, node_id }: Leader, waiting: Waiting): Promise<void> {
  const found = await findWaiting(app.db.pool, [node_id, app.clock.now()]);
  for (const { account_id, trunk_id } of found) addWaiting(waiting, account_id, [trunk_id]);
}

/**
 * Applies an operator's changes to the running node leader: another one could not continue its conversations with AI
 * agents. Returns false if the leader has to end.
 */
function applyLimits(leader: Leader, limits: NodeLimits | null): boolean {
  if (limits?.connection !== leader.limits.connection) return false;
  if (!limits.active && !limits.has_live_calls) return false;
  leader.limits = limits;
  leader.trunks = new Map(limits.trunks.map((trunk) => [trunk.id, trunk]));
  leader.leg_rate.setRate(limits.calls_per_second);
  for (const { id, calls_per_second } of limits.trunks) {
    const rate = leader.trunk_leg_rates.get(id);
    if (rate) rate.setRate(calls_per_second);
    else
      leader.trunk_leg_rates.set(
        id,
        openLegRate(calls_per_second, () => performance.now()),
      );
  }
  return true;
}
