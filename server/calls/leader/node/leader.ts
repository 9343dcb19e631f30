// The state of a node leader.
import type { LRUCache } from "lru-cache";
import type { FullStorages } from "../../../accounts/accounts/storage.ts";
import type { VoiceDriverName, VoiceSession } from "../../../drivers/voice/driver.ts";
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";
import type { Call, Line } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { PreparedConversation } from "../../../drivers/ai-agent/driver.ts";
import type { CircuitBreaker } from "../dialer/circuit-breaker.ts";
import type { ContentGate } from "../dialer/content-gate.ts";
import type { NodeLimits, NodeTrunk } from "./node-state.ts";
import type { LegRate } from "./leg-rate.ts";
import type { LastWords } from "./open-last-words.ts";
import type { SerializeAgentChoice } from "../events/serialize-agent-choice.ts";
import type { CommitTransition } from "../events/commit-transitions.ts";

/** How long the node leader waits for its switch; short in drills. */
export type LeaderTimes = {
  /** Between two reconciliations with the switch. */
  readonly reconcile_ms: number;
  /** How long a leg that the switch does not show is waited for. */
  readonly missing_ms: number;
  /** How long a recording is waited for after its call. */
  readonly recording_ms: number;
  /** How long the switch may be out of contact before its calls end as lost. */
  readonly lost_ms: number;
};

/** A call that this node leader handles. */
export type LiveCall = {
  /** As last stored. */
  call: Call;
  /** After the events that this node leader could not store; null if there is none. */
  unstored: Call | null;
  readonly line: Line;
  readonly trunk: NodeTrunk;
  /** The highest ID of the legs that were taken over: the previous node leader may have died before it dialed them. */
  readonly adopted_legs: number;
  /** The end of its queue of events, which are handled one at a time. */
  pending: Promise<void>;
  /** Legs that are being dialed; aborting cancels a dial that still waits. */
  readonly dialing: Map<
    number,
    { readonly done: Promise<void>; readonly give_up: AbortController }
  >;
  /**
   * Live legs that the switch does not show: since when, by the monotonic clock, and when they ended at the
   * latest.
   */
  readonly missing: Map<number, { readonly since_ms: number; readonly gone_at: Date }>;
  /** Legs whose end was reported; the call may not have handled it yet. */
  readonly ended: Set<number>;
  /** A command failed: resumeCommands follow the next reconciliation. */
  needs_resume: boolean;
  credit_timer: NodeJS.Timeout | null;
  ending_timer: NodeJS.Timeout | null;
  /** Hangs up at the maximum duration. */
  duration_timer: NodeJS.Timeout | null;
  /** Reports the `timeout` of `wait`. */
  wait_timer: NodeJS.Timeout | null;
  /** The end of the queue of prompts. */
  playing: Promise<void>;
  /** The AI agent that waits for the answer. */
  prepared: PreparedConversation | null;
  conversation: Conversation | null;
};

/** An AI agent's conversation with a caller. */
export type Conversation = {
  press: (digit: string) => void;
  /** Stops the AI agent at once; none of its further events is dispatched. */
  end(): void;
};

export type Leader = {
  readonly app: App;
  /** `mayProceed` is checked just before each request to the switch. */
  readonly lease: Lease;
  /** Aborted once this node leader has to end: it takes no further calls. */
  readonly over: AbortSignal;
  readonly node_id: number;
  readonly driver: VoiceDriverName;
  readonly session: VoiceSession;
  readonly times: LeaderTimes;
  /** As the operator set them last, like the trunks and the leg rates. */
  limits: NodeLimits;
  /** By the call's name. */
  readonly calls: Map<string, LiveCall>;
  /** The end of the queue of claims and adoptions: a call just claimed must not look orphaned. */
  claiming: Promise<unknown>;
  readonly serializeAgentChoice: SerializeAgentChoice;
  readonly commitTransition: CommitTransition;
  readonly breaker: CircuitBreaker;
  readonly gate: ContentGate;
  readonly lastWords: LastWords;
  /** Texts whose audio was found or synthesized a short time ago. */
  readonly prepared_texts: LRUCache<string, true>;
  readonly full_storages: FullStorages;
  /** Users' commands by ID whose events were dispatched; true: the event was handled, and the command can be deleted. */
  readonly commands: Map<number, boolean>;
  trunks: ReadonlyMap<number, NodeTrunk>;
  /** Limit the rate of new legs, of the node and of each trunk. */
  readonly leg_rate: LegRate;
  readonly trunk_leg_rates: Map<number, LegRate>;
  /** Resolved while the switch is connected. */
  connected: PromiseWithResolvers<void>;
  is_connected: boolean;
  /** Counts connections and disconnections, so that work of an earlier connection stops. */
  connection: number;
  /** When the switch was last in contact; null once calls are reconciled. */
  last_seen_at: Date | null;
  /** Since when calls could not be reconciled, by the monotonic clock; null while connected. */
  disconnected_since_ms: number | null;
  /** Whether the node was recorded as lost since the last connection. */
  is_recorded_lost: boolean;
  /** Whether the switch restarted since its calls were dialed. */
  restarted: boolean;
  /** Queues an event of a call behind its pending events. */
  readonly dispatch: (live: LiveCall, event: CallEvent) => void;
  /** Reconciles with the switch within `ms`. */
  reconcileIn(ms: number): void;
  /** A user's command can be executed or deleted. */
  notifyCommand(): void;
  /** Wakes the node leader: a slot is free, or there may be work. */
  wake(): void;
};

/** Whether the switch has been out of contact for so long that its calls end as lost. */
export function isNodeLost({ disconnected_since_ms: since_ms, times }: Leader): boolean {
  return since_ms !== null && performance.now() - since_ms >= times.lost_ms;
}
