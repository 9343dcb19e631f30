// What the parts of a node's leader share.
import type { VoiceDriverName, VoiceSession } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import type { Lease } from "../../engine/leases.ts";
import type { Call, Line } from "../state-machine/call.ts";
import type { CallEvent } from "../state-machine/events-and-acts.ts";
import type { Breaker } from "./breaker.ts";
import type { ChooseInTurn } from "./choose-in-turn.ts";
import type { TrunkShare } from "./leader-statements.ts";
import type { Pace } from "./pace.ts";
import type { WriteTogether } from "./write-together.ts";

/** How long the leader waits for what the switch owes it; short in drills. */
export type LeaderTimes = {
  /** Between two comparisons with what the switch says is there. */
  readonly survey_ms: number;
  /** A leg that the switch does not show is looked for so long. */
  readonly missing_ms: number;
  /** A recording is waited for so long after its call. */
  readonly recording_ms: number;
};

/** A call in its leader's hands. */
export type LiveCall = {
  /** As last stored. */
  call: Call;
  readonly line: Line;
  readonly trunk: TrunkShare;
  /** Taken over: whoever dialled its legs may have died before the switch heard of them. */
  readonly adopted: boolean;
  /** What happens to it is taken one after the other. */
  turns: Promise<void>;
  /** Legs on their way to the switch; aborted, one that still waits is not dialled. */
  readonly dialling: Map<
    number,
    { readonly done: Promise<void>; readonly give_up: AbortController }
  >;
  /**
   * Legs that should live and that the switch does not show: since when, by the monotonic clock, and until
   * when they may have lived.
   */
  readonly missing: Map<number, { readonly since_ms: number; readonly gone_at: Date }>;
  /** The switch did not do what was asked of it. */
  is_behind: boolean;
  credit_timer: NodeJS.Timeout | null;
  ending_timer: NodeJS.Timeout | null;
  /** Of a campaign's call: when it has waited long enough for its caller. */
  wait_timer: NodeJS.Timeout | null;
  /** What is being played and is to be played, in order. */
  playing: Promise<void>;
  conversation: Conversation | null;
};

/** An AI agent that talks to a caller. */
export type Conversation = {
  press: (digit: string) => void;
  /** Silent at once; nothing is told of it any more. */
  end(): void;
};

export type Leader = {
  readonly app: App;
  readonly lease: Lease;
  readonly node_id: number;
  readonly driver: VoiceDriverName;
  readonly session: VoiceSession;
  readonly times: LeaderTimes;
  /** By the call's name. */
  readonly calls: Map<string, LiveCall>;
  /** The end of the claim or adoption under way: what the one takes must not look left over to the other. */
  taking: Promise<unknown>;
  readonly chooseInTurn: ChooseInTurn;
  readonly writeTogether: WriteTogether;
  readonly breaker: Breaker;
  trunks: ReadonlyMap<number, TrunkShare>;
  /** New legs of the node, and of each trunk. */
  readonly pace: Pace;
  readonly trunk_paces: Map<number, Pace>;
  /** Resolved while the switch is connected. */
  connected: PromiseWithResolvers<void>;
  is_connected: boolean;
  /** Counts connections and their losses: what a former one began is no longer gone on with. */
  connection: number;
  /** Until when the switch was heard, as long as nothing was compared since; null: all along. */
  last_seen_at: Date | null;
  /** Whether the switch has restarted since its calls were dialled. */
  restarted: boolean;
  /** Has something happen to a call, after what is already on its way to it. */
  tell(live: LiveCall, event: CallEvent): void;
  /** Compares with the switch again, so soon. */
  surveyIn(ms: number): void;
  /** A place is free, or there may be work. */
  wake(): void;
};

/** Whether anything may still be begun at the switch: to be asked just before each request. */
export function mayAct({ lease }: Leader): boolean {
  return lease.mayAct();
}
