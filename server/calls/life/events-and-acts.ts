// What can happen to a call, and what a leader is to do about it.
import type { DialTarget, Ending } from "../../drivers/voice/driver.ts";
import type { Agent, Call } from "./call.ts";
import type { News } from "./news.ts";

/** What can happen to a call. Legs by their id within it. */
export type CallEvent = { readonly at: Date } & (
  | { readonly type: "placed"; readonly against: Obstacle | null }
  /** Who is to be rung now, all at once; nobody: there is nobody left. */
  | { readonly type: "agents"; readonly agents: readonly Agent[] }
  | { readonly type: "ringing"; readonly leg: number }
  /** `against`: what now stands against calling the customer, of an agent's leg. */
  | { readonly type: "answered"; readonly leg: number; readonly against?: Obstacle | null }
  | { readonly type: "digit"; readonly leg: number; readonly digit: string }
  /** `answered_at`: it had been answered, which nobody heard. */
  | {
      readonly type: "ended";
      readonly leg: number;
      readonly ending: Ending;
      readonly answered_at?: Date | null;
    }
  /** The extension of a key or of a command; null: the account maps none to it, or cannot pay the leg. */
  | { readonly type: "transfer"; readonly by: TransferredBy; readonly to: Agent | null }
  | { readonly type: "hangup"; readonly reason: "hung_up_by_api" | "credit" }
  | { readonly type: "recorded"; readonly ok: boolean }
);

/** What may stand against a call at the moment it would be placed, or its customer would be called. */
export type Obstacle =
  | "suppressed"
  | "already_in_call"
  | "night_window"
  /** The account lost the feature, or the trunk. */
  | "not_allowed"
  /** It waited for too long. */
  | "too_late";
export type TransferredBy = "agent" | "customer" | "api";

/** What the leader is to do, in this order, once the step is stored. */
export type Act =
  /** Answered by `agents`. `again`: ring this one once more, its leg never reached it. */
  | { readonly do: "choose_agents"; readonly again: string | null }
  /** Answered by `transfer`. */
  | { readonly do: "find_extension"; readonly digit: string; readonly by: TransferredBy }
  | {
      readonly do: "dial";
      readonly leg: number;
      readonly to: DialTarget;
      readonly caller_id: string;
      readonly ring_seconds: number;
    }
  | { readonly do: "hang_up"; readonly leg: number }
  | { readonly do: "ringback" | "stop_ringback"; readonly leg: number }
  | { readonly do: "bridge"; readonly legs: readonly number[] }
  | { readonly do: "record" }
  | { readonly do: "end_bridge" };

export type Step = {
  readonly call: Call;
  readonly news: readonly News[];
  readonly acts: readonly Act[];
};
