// What a node's leader does in turn: looks at what the switch holds, obeys commands, places what is due.
import type { App } from "../../engine/app.ts";
import { settledWithin } from "../../lib/settled-within.ts";
import { reconcileCalls } from "./reconcile-calls.ts";
import { openDialer, type Dialer } from "./open-dialer.ts";
import type { Leader } from "./leader.ts";
import { findLimits, findWaiting, type NodeLimits } from "./leader-statements.ts";
import { executeUserCommands } from "./execute-user-commands.ts";
import { adoptOrphanedCalls, placeCalls } from "./place-calls.ts";
import { resumeCall } from "./handle-event.ts";

/** Notifications may be lost: everything is looked for so often. */
const poll_ms = 500;

export type NodeWork = {
  /** Does what there is to do, or rests until there may be something. */
  round(): Promise<void>;
  rest(ms: number): Promise<void>;
  wake(): void;
  reconcileIn(ms: number): void;
  /** Calls of the account wait. */
  hearWork(accountId: number): void;
  hearCommand(): void;
  /** A campaign may have recipients to call. */
  hearCampaigns(): void;
  /** The node itself may have been changed by its operator. */
  hearChange(): void;
  isChanged(): boolean;
};

export function openNodeWork(leader: Leader, limits: NodeLimits): NodeWork {
  const { app, node_id, times } = leader;
  /** Accounts that have calls to place. */
  const waiting = new Set<number>();
  const dialer = openDialer(leader, limits);
  let polled_ms = -Infinity;
  let compare_at_ms = Infinity;
  let has_commands = true;
  let may_be_changed = false;
  let is_changed = false;
  let resting = Promise.withResolvers<void>();

  const poll = async () => {
    polled_ms = performance.now();
    has_commands = may_be_changed = true;
    dialer.hear();
    for (const account_id of await accountsWaiting(leader)) waiting.add(account_id);
  };
  const work: NodeWork = {
    async round() {
      resting = Promise.withResolvers<void>();
      if (performance.now() - polled_ms >= poll_ms) await poll();
      if (may_be_changed) {
        may_be_changed = false;
        is_changed = await isOther(app, node_id, limits);
      }
      if (performance.now() >= compare_at_ms) {
        compare_at_ms = performance.now() + times.survey_ms;
        for (const live of await adoptOrphanedCalls(leader)) live.needs_resume = true;
        if (leader.is_connected) await reconcileCalls(leader);
        for (const live of leader.calls.values()) if (live.needs_resume) resumeCall(leader, live);
      }
      if (has_commands) {
        has_commands = false;
        await executeUserCommands(leader);
      }
      const may_place = leader.is_connected && limits.active;
      const { placed, next_in_ms } = may_place
        ? await callAll(leader, limits, waiting, dialer)
        : none;
      if (placed || is_changed) return;
      await work.rest(Math.min(next_in_ms, compare_at_ms - performance.now()));
    },
    rest: (ms) => settledWithin(resting.promise, ms),
    wake: () => resting.resolve(),
    reconcileIn(ms) {
      compare_at_ms = Math.min(compare_at_ms, performance.now() + ms);
      work.wake();
    },
    hearWork(accountId) {
      waiting.add(accountId);
      work.wake();
    },
    hearCommand() {
      has_commands = true;
      work.wake();
    },
    hearCampaigns() {
      dialer.hear();
      work.wake();
    },
    hearChange() {
      may_be_changed = true;
      work.wake();
    },
    isChanged: () => is_changed,
  };
  return work;
}

const none = { placed: false, next_in_ms: poll_ms };

/** Whoever waits at a telephone goes first. */
async function callAll(
  leader: Leader,
  limits: NodeLimits,
  waiting: Set<number>,
  dialer: Dialer,
): Promise<typeof none> {
  const calls = await placeAll(leader, limits, waiting);
  const dials = await dialer.dial();
  return {
    placed: calls.placed || dials.placed,
    next_in_ms: Math.min(calls.next_in_ms, dials.next_in_ms),
  };
}

/**
 * A turn for each account. One that had no room is first in the next; one that took some goes behind
 * all others. Says whether any call was taken, and when the pace lets the next one go; a place that is
 * free again is told by `wake`.
 */
async function placeAll(
  leader: Leader,
  limits: NodeLimits,
  waiting: Set<number>,
): Promise<typeof none> {
  let { placed, next_in_ms } = none;
  const passed_over: number[] = [];
  for (const account_id of Array.from(waiting)) {
    // Heard of again meanwhile, it stays.
    waiting.delete(account_id);
    const taken = await placeCalls(leader, limits, account_id);
    if (taken.calls > 0) placed = true;
    else if (taken.more) passed_over.push(account_id);
    if (taken.calls > 0 && taken.more) waiting.add(account_id);
    next_in_ms = Math.min(next_in_ms, taken.next_in_ms);
  }
  const behind = Array.from(waiting);
  waiting.clear();
  for (const account_id of [...passed_over, ...behind]) waiting.add(account_id);
  return { placed, next_in_ms };
}

async function accountsWaiting({ app, node_id }: Leader): Promise<number[]> {
  const found = await findWaiting(app.db.pool, [node_id, app.clock.now()]);
  return found.map(({ account_id }) => account_id);
}

async function isOther(app: App, nodeId: number, known: NodeLimits): Promise<boolean> {
  return (await findLimits(app, nodeId))?.version !== known.version;
}
