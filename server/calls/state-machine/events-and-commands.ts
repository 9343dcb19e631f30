// The inputs and outputs of the call state machine.
import type { AiAgentEndReason, AiAgentTool } from "../../drivers/ai-agent/driver.ts";
import type { AnsweredBy, DialTarget, Ending, MessageLimits } from "../../drivers/voice/driver.ts";
import type { CustomerHours } from "../customer-hours.ts";
import type { Agent, Call } from "./call.ts";
import type { CallBlocker } from "./call-blocker.ts";
import type { Prompt, TransferTarget } from "./menu.ts";
import type { OutboxEvent } from "./transitions/outbox-event.ts";

/** The events of a call. A leg is named by its ID within the call. */
export type CallEvent = { readonly at: Date } &
  /** The node leader claimed the call. */
  (
    | { readonly type: "placed"; readonly blocker: CallBlocker | null }
    | { readonly type: "ringing"; readonly leg: number }
    /** `blocker`, on an agent's leg: why the customer must not be called. */
    | { readonly type: "answered"; readonly leg: number; readonly blocker?: CallBlocker | null }
    /** `blocker`, on an agent's leg: why the customer must not be called. */
    | {
        readonly type: "digit";
        readonly leg: number;
        readonly digit: string;
        readonly blocker?: CallBlocker | null;
      }
    /** `answered_at`: the leg had been answered, but the answer was missed; `blocker`: why it was not dialed. */
    | {
        readonly type: "ended";
        readonly leg: number;
        readonly ending: Ending;
        readonly answered_at?: Date | null;
        readonly blocker?: CallBlocker | null;
      }
    /** A key or an API request asks for a transfer to this extension; null: the key has none. */
    | {
        readonly type: "transfer_requested";
        readonly by: TransferredBy;
        readonly to: Agent | null;
      }
    | { readonly type: "hangup"; readonly reason: HangUpReason }
    /** The call's trunk was deleted, so that no leg can be dialed over it. */
    | { readonly type: "trunk_deleted" }
    | { readonly type: "recorded"; readonly ok: boolean }
    /** A pulse without reserved credit begins soon, at `due_at`. */
    | { readonly type: "pulse_due"; readonly due_at: Date }
    | RequestAnswer
    | VoiceCallEvent
  );

/** Answers to requests. */
type RequestAnswer =
  /** Agents to ring now, all at once; empty when none is left. */
  | { readonly type: "agents_chosen"; readonly agents: readonly Agent[] }
  /** Null: no agent is left for the caller. */
  | { readonly type: "agent_found"; readonly to: Agent | null }
  | {
      readonly type: "credit_reserved";
      readonly amount: number;
      readonly purpose: CreditPurpose;
    }
  | { readonly type: "credit_refused"; readonly purpose: CreditPurpose }
  | { readonly type: "retry_queued"; readonly due_at: Date }
  /** Insufficient credit for the retry. */
  | { readonly type: "retry_refused" };

/** The further events of a voice call. */
export type VoiceCallEvent =
  /** The leg was not dialed, for this reason. `hours`: the customer's, if they were read again. */
  | {
      readonly type: "withdrawn";
      readonly leg: number;
      readonly blocker: CallBlocker;
      readonly hours?: CustomerHours;
    }
  | {
      readonly type: "played";
      readonly leg: number;
      readonly playback: string;
      readonly ok: boolean;
    }
  | { readonly type: "detected"; readonly leg: number; readonly answered_by: AnsweredBy }
  | { readonly type: "silent"; readonly leg: number }
  /** The timer that `wait` started has expired. */
  | { readonly type: "timeout"; readonly visit: number }
  | { readonly type: "message"; readonly recording: string; readonly ok: boolean }
  /** `find_agent` was executed. */
  | { readonly type: "agent_requested"; readonly to: TransferTarget }
  /** The AI agent's first audio is played. */
  | { readonly type: "audible" }
  | { readonly type: "said"; readonly who: "agent" | "caller"; readonly text: string }
  | { readonly type: "tool"; readonly tool: AiAgentTool }
  | { readonly type: "conversation_ended"; readonly reason: AiAgentEndReason | "lost" };

export type TransferredBy = "agent" | "customer" | "api";
/** `too_long`: the conversation reached the account's maximum duration. */
export type HangUpReason = "hung_up_by_api" | "credit" | "too_long";

/** The purpose of a reservation. */
export type CreditPurpose =
  /** The pulse of a leg that begins at `due_at`. */
  | { readonly type: "pulse"; readonly due_at: Date }
  /** The first pulse of the leg to `to`; `system`: the caller's menu or AI agent transfers. */
  | {
      readonly type: "transfer";
      readonly by: TransferredBy | "system";
      readonly to: Agent;
    };

/**
 * Information that a transition needs before it is complete. The node leader returns the answer as an event
 * and stores both transitions in one write.
 */
export type Request =
  /** Answered by `agents_chosen`. `again`: ring this number once more, its leg was never placed. */
  | { readonly type: "choose_agents"; readonly again: string | null }
  /** Answered by `agent_found`. */
  | { readonly type: "choose_transfer_agent"; readonly to: TransferTarget }
  /** Answered by `credit_reserved` or `credit_refused`. */
  | {
      readonly type: "reserve_credit";
      readonly amount: number;
      readonly purpose: CreditPurpose;
    }
  /**
   * Answered by `retry_queued` or `retry_refused`, in the transaction that stores the end of the call, whose
   * released credit pays for the retry.
   */
  | { readonly type: "queue_retry"; readonly due_at: Date };

/** The commands that the node leader executes, in order, once the transition is stored. */
export type Command =
  /** Answered by `transfer_requested`. */
  | { readonly type: "find_extension"; readonly digit: string; readonly by: TransferredBy }
  | {
      readonly type: "dial";
      readonly leg: number;
      readonly to: DialTarget;
      readonly caller_id: string;
      readonly ring_seconds: number;
    }
  /** Answers an inbound call's leg. */
  | { readonly type: "answer"; readonly leg: number }
  | { readonly type: "hang_up"; readonly leg: number }
  /** Asks the agent to press 1; `played` reports the end of the prompt. */
  | { readonly type: "ask_to_accept"; readonly leg: number }
  | { readonly type: "ringback" | "stop_ringback"; readonly leg: number }
  | { readonly type: "bridge"; readonly legs: readonly number[] }
  | { readonly type: "record" }
  | { readonly type: "end_bridge" }
  | VoiceCommand;

/** Commands for the customer's leg of a voice call. */
export type VoiceCommand =
  | { readonly type: "detect"; readonly leg: number }
  /** Answered by `silent`. */
  | { readonly type: "await_silence"; readonly leg: number }
  /** Plays the prompts in order; `played` reports the last. Dropped once the call is at another visit. */
  | {
      readonly type: "play";
      readonly leg: number;
      readonly visit: number;
      readonly prompts: readonly Prompt[];
    }
  | { readonly type: "stop_playing"; readonly leg: number }
  /** Answered by `timeout`. */
  | { readonly type: "wait"; readonly visit: number; readonly ms: number }
  | {
      readonly type: "record_message";
      readonly leg: number;
      readonly visit: number;
      readonly limits: MessageLimits;
    }
  | { readonly type: "stop_message"; readonly visit: number }
  /** Answered by `agent_requested`. */
  | { readonly type: "find_agent"; readonly to: TransferTarget }
  /** Connects an AI agent to the caller; `said`, `tool` and `conversation_ended` follow. */
  | { readonly type: "converse"; readonly leg: number }
  /** After a takeover or a reconnect: ends the conversation unless this process runs it. */
  | { readonly type: "keep_conversation" }
  /** Passes a key that the caller pressed to the AI agent. */
  | { readonly type: "press"; readonly digit: string }
  | { readonly type: "end_conversation" };

/** Rows stored with a voice call: its menu path, its transcript and its messages. */
export type Notes = {
  readonly menu?: readonly { readonly node: string; readonly key: string | null }[];
  readonly said?: readonly { readonly who: "agent" | "caller"; readonly text: string }[];
  readonly messages?: readonly {
    readonly recording: string;
    readonly node: string;
    readonly state: "recording" | "ready" | "failed";
  }[];
};

/** The result of an event: the call after it, the events to publish, and the commands to execute. */
export type Transition = {
  readonly call: Call;
  readonly events: readonly OutboxEvent[];
  readonly commands: readonly Command[];
  readonly notes?: Notes;
  /** Must be answered before the transition is stored. */
  readonly request?: Request;
};
