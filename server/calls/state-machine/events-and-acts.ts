// What can happen to a call, and what a leader is to do about it.
import type { AgentEnd, AgentTool } from "../../drivers/ai-agent/driver.ts";
import type { AnsweredBy, DialTarget, Ending, MessageLimits } from "../../drivers/voice/driver.ts";
import type { Agent, Call } from "./call.ts";
import type { Prompt, TransferTarget } from "./menu.ts";
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
  | VoiceEventOfCall
);

/** What can happen on a campaign's call beside. */
export type VoiceEventOfCall =
  /** It was not dialled: this stands against it by now. */
  | { readonly type: "withdrawn"; readonly leg: number; readonly against: Obstacle }
  | {
      readonly type: "played";
      readonly leg: number;
      readonly playback: string;
      readonly ok: boolean;
    }
  | { readonly type: "detected"; readonly leg: number; readonly answered_by: AnsweredBy }
  /** What `wait` waited for. */
  | { readonly type: "timeout"; readonly visit: number }
  | { readonly type: "message"; readonly recording: string; readonly ok: boolean }
  /** What `find_agent` asks for; the leader makes `agent_found` of it. */
  | { readonly type: "seek"; readonly to: TransferTarget }
  /** Null: there is nobody left, or no credit for the leg. */
  | { readonly type: "agent_found"; readonly to: Agent | null }
  | { readonly type: "said"; readonly who: "agent" | "caller"; readonly text: string }
  | { readonly type: "tool"; readonly tool: AgentTool }
  | { readonly type: "conversation_over"; readonly reason: AgentEnd | "lost" };

/** What may stand against a call at the moment it would be placed, or its customer would be called. */
export type Obstacle =
  | "suppressed"
  | "already_in_call"
  | "night_window"
  /** The account lost the feature, or the trunk. */
  | "not_allowed"
  /** It waited for too long. */
  | "too_late"
  /** Its campaign was paused or cancelled. */
  | "held";
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
  | { readonly do: "end_bridge" }
  | VoiceAct;

/** With the customer's leg of a campaign's call. */
export type VoiceAct =
  | { readonly do: "detect"; readonly leg: number }
  /** One after the other; `played` tells of the last. Dropped when the call is at another visit by then. */
  | {
      readonly do: "play";
      readonly leg: number;
      readonly visit: number;
      readonly prompts: readonly Prompt[];
    }
  | { readonly do: "stop_playing"; readonly leg: number }
  /** Answered by `timeout`. */
  | { readonly do: "wait"; readonly visit: number; readonly ms: number }
  | {
      readonly do: "record_message";
      readonly leg: number;
      readonly visit: number;
      readonly limits: MessageLimits;
    }
  | { readonly do: "stop_message"; readonly visit: number }
  /** Answered by `seek`. */
  | { readonly do: "find_agent"; readonly to: TransferTarget }
  /** An AI agent talks to the caller; `said`, `tool`, `conversation_over` follow. */
  | { readonly do: "converse"; readonly leg: number }
  /** Of a call that was taken over: the conversation is over unless this process has it. */
  | { readonly do: "keep_conversation" }
  /** The caller pressed a key, for the agent to hear. */
  | { readonly do: "press"; readonly digit: string }
  | { readonly do: "end_conversation" };

/** What is stored of a campaign's call beside the call: the way through its menu, what was said, messages. */
export type Notes = {
  readonly menu?: readonly { readonly node: string; readonly key: string | null }[];
  readonly said?: readonly { readonly who: "agent" | "caller"; readonly text: string }[];
  readonly messages?: readonly {
    readonly recording: string;
    readonly node: string;
    readonly state: "recording" | "ready" | "failed";
  }[];
};

export type Step = {
  readonly call: Call;
  readonly news: readonly News[];
  readonly acts: readonly Act[];
  readonly notes?: Notes;
};
