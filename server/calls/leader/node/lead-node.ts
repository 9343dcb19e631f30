// The node leader: under the node's lease, it handles the switch's events, places due calls, and brings every
// call of the node to its end.
import { LRUCache } from "lru-cache";
import { openFullStorages } from "../../../accounts/accounts/storage.ts";
import type { VoiceEvent } from "../../../drivers/voice/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import { findVoiceNode } from "../../../telephony/nodes/find-voice-node.ts";
import { openCircuitBreaker } from "../dialer/circuit-breaker.ts";
import { openContentGate } from "../dialer/content-gate.ts";
import { handleEvent, releaseCall } from "../events/handle-event.ts";
import { handleSwitchEvent } from "./handle-switch-event.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { Leader, LeaderTimes, LiveCall } from "./leader.ts";
import { recordDisconnection } from "./leader-statements.ts";
import { readNodeState, type NodeLimits } from "./node-state.ts";
import { openNodeWork, type NodeWork } from "./node-work.ts";
import { openLegRate } from "./leg-rate.ts";
import type { LastWords } from "./open-last-words.ts";
import { openSerializeAgentChoice } from "../events/serialize-agent-choice.ts";
import { openTransitionCommits } from "../events/commit-transitions.ts";

const retry_ms = 500;

/** Wakes a running node leader; it is movable unless a call needs this process. */
export type LeaderHandle = Pick<
  NodeWork,
  "wake" | "notifyWork" | "notifyCommand" | "notifyChange" | "notifyCampaigns"
> & { isMovable(): boolean };

/** The node, its lease, and when to stop. */
export type Leading = {
  readonly lease: Lease;
  readonly node_id: number;
  readonly times: LeaderTimes;
  readonly lastWords: LastWords;
  readonly stopping: AbortSignal;
};

/**
 * Runs until a stop is requested, the lease is lost, the switch has another address, the node is deactivated and its
 * calls have ended, or another process takes over the switch (`replaced`). Live calls continue at the switch; the next
 * node leader adopts them.
 */
export async function leadNode(
  app: App,
  leading: Leading,
  onOpen: (handle: LeaderHandle) => void,
): Promise<"replaced" | "over"> {
  const { lease, node_id, stopping } = leading;
  const state = await readNodeState(app, node_id);
  if (!state) return "over";
  const { limits } = state;
  const replaced = new AbortController();
  const over = AbortSignal.any([stopping, lease.lost, replaced.signal]);
  const onReplaced = () => replaced.abort();
  const { leader, work } = await openLeader(app, { ...leading, limits, over, onReplaced });
  onOpen({ ...work, isMovable: () => isMovable(leader) });
  // At once, not after the iteration: without the lease it must not reconnect and replace the next leader.
  lease.lost.addEventListener("abort", () => void leader.session.close(), { once: true });
  try {
    while (!over.aborted && !work.isOver()) {
      try {
        await work.iterate();
      } catch (err) {
        app.log.warn(
          { err, subject_id: node_id },
          "an iteration of a node leader failed; retrying",
        );
        await work.sleep(retry_ms);
      }
    }
  } finally {
    await closeLeader(leader);
  }
  return replaced.signal.aborted ? "replaced" : "over";
}

/** Calls of the sandbox are simulated in this process, and the audio of AI agents passes through it. */
function isMovable({ driver, calls }: Leader): boolean {
  const needsProcess = ({ conversation, prepared }: LiveCall) =>
    driver === "sandbox" || conversation !== null || prepared !== null;
  return !Array.from(calls.values()).some(needsProcess);
}

type OpenLeading = Omit<Leading, "stopping"> & {
  readonly limits: NodeLimits;
  readonly over: AbortSignal;
  readonly onReplaced: () => void;
};

async function openLeader(
  app: App,
  { lease, node_id, times, lastWords, limits, over, onReplaced }: OpenLeading,
): Promise<{ leader: Leader; work: NodeWork }> {
  const node = await findVoiceNode(app, node_id);
  // A previous node leader that was killed left the node recorded as connected.
  await recordDisconnection(app, lease, node_id, null);
  const rateOf = (per_second: number) => openLegRate(per_second, () => performance.now());
  const onEvent = (event: VoiceEvent) => {
    if (event.type === "replaced") onReplaced();
    handleSwitchEvent(leader, event);
  };
  const leader: Leader = {
    app,
    lease,
    over,
    node_id,
    driver: node.driver,
    // This process leads only nodes whose driver it has.
    session: app.voiceDrivers[node.driver]!.open(node, onEvent, lease.mayProceed),
    times,
    limits,
    calls: new Map(),
    claiming: Promise.resolve(),
    serializeAgentChoice: openSerializeAgentChoice(),
    commitTransition: openTransitionCommits(app, lease),
    breaker: openCircuitBreaker(),
    gate: openContentGate(() => performance.now()),
    lastWords,
    prepared_texts: new LRUCache({ max: 20_000, ttl: 3_600_000 }),
    full_storages: openFullStorages(),
    commands: new Map(),
    trunks: new Map(limits.trunks.map((trunk) => [trunk.id, trunk])),
    leg_rate: rateOf(limits.calls_per_second),
    trunk_leg_rates: new Map(
      limits.trunks.map(({ id, calls_per_second }) => [id, rateOf(calls_per_second)]),
    ),
    connected: Promise.withResolvers(),
    is_connected: false,
    connection: 0,
    last_seen_at: null,
    disconnected_since_ms: performance.now(),
    is_recorded_lost: false,
    restarted: false,
    dispatch: (live, event) => dispatch(leader, live, event),
    reconcileIn: (ms) => work.reconcileIn(ms),
    notifyCommand: () => work.notifyCommand(),
    wake: () => work.wake(),
  };
  const work = openNodeWork(leader);
  return { leader, work };
}

function dispatch(leader: Leader, live: LiveCall, event: CallEvent): void {
  if (event.type === "ended") live.ended.add(event.leg);
  live.pending = live.pending
    .then(() => handleEvent(leader, live, event))
    .catch((err: unknown) => {
      const at = { account_id: live.call.account_id, call_id: live.call.id };
      leader.app.log.error({ err, ...at }, "could not handle a call's event");
      leader.reconcileIn(retry_ms);
    });
}

async function closeLeader(leader: Leader): Promise<void> {
  leader.leg_rate.stop();
  for (const rate of leader.trunk_leg_rates.values()) rate.stop();
  const pending = [...leader.calls.values()].map((live) => live.pending);
  for (const live of leader.calls.values()) releaseCall(leader, live);
  await leader.session.close();
  await Promise.all(pending);
  const { app, lease, node_id, is_connected } = leader;
  // A node that was never reached was not seen: its lost calls are billed until it was last seen.
  const seen_at = is_connected ? app.clock.now() : null;
  await recordDisconnection(app, lease, node_id, seen_at).catch(() => {});
}
