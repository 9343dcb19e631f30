// What a node's leader does in turn: looks at what the switch holds, obeys commands, places what is due.
import type { App } from "../../engine/app.ts";
import { settledWithin } from "../../lib/settled-within.ts";
import { compareWithSwitch } from "./compare-with-switch.ts";
import type { Leader } from "./leader.ts";
import { findLimits, findWaiting, type NodeLimits } from "./leader-statements.ts";
import { obeyCommands } from "./obey-commands.ts";
import { adoptMissing, placeCalls } from "./place-calls.ts";
import { resumeCall } from "./take-turn.ts";

/** Hints may be lost: everything is looked for so often. */
const poll_ms = 500;

export type NodeWork = {
  /** Does what there is to do, or rests until there may be something. */
  round(): Promise<void>;
  rest(ms: number): Promise<void>;
  wake(): void;
  surveyIn(ms: number): void;
  /** Calls of the account wait. */
  hearWork(accountId: number): void;
  hearCommand(): void;
  /** The node itself may have been changed by its operator. */
  hearChange(): void;
  isChanged(): boolean;
};

export function openNodeWork(leader: Leader, limits: NodeLimits): NodeWork {
  const { app, node_id, times } = leader;
  /** Accounts that have calls to place. */
  const waiting = new Set<number>();
  let polled_ms = -Infinity;
  let compare_at_ms = Infinity;
  let has_commands = true;
  let may_be_changed = false;
  let is_changed = false;
  let resting = Promise.withResolvers<void>();

  const poll = async () => {
    polled_ms = performance.now();
    has_commands = may_be_changed = true;
    for (const account_id of await accountsWaiting(leader)) waiting.add(account_id);
  };
  const place = async (): Promise<number> => {
    let placed = 0;
    for (const account_id of Array.from(waiting)) {
      // Heard of again meanwhile, it stays.
      waiting.delete(account_id);
      const taken = await placeCalls(leader, limits, account_id);
      if (taken > 0) waiting.add(account_id);
      placed += taken;
    }
    return placed;
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
        const adopted = await adoptMissing(leader);
        if (leader.is_connected) await compareWithSwitch(leader);
        for (const live of adopted) resumeCall(leader, live);
      }
      if (has_commands) {
        has_commands = false;
        await obeyCommands(leader);
      }
      const placed = leader.is_connected && limits.active ? await place() : 0;
      if (placed > 0 || is_changed) return;
      await work.rest(Math.min(poll_ms, compare_at_ms - performance.now()));
    },
    rest: (ms) => settledWithin(resting.promise, ms),
    wake: () => resting.resolve(),
    surveyIn(ms) {
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
    hearChange() {
      may_be_changed = true;
      work.wake();
    },
    isChanged: () => is_changed,
  };
  return work;
}

async function accountsWaiting({ app, node_id }: Leader): Promise<number[]> {
  const found = await findWaiting(app.db.pool, [node_id, app.clock.now()]);
  return found.map(({ account_id }) => account_id);
}

async function isOther(app: App, nodeId: number, known: NodeLimits): Promise<boolean> {
  return (await findLimits(app, nodeId))?.version !== known.version;
}
