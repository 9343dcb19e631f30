// Why voice campaigns wait or are paused, and why people were not reached, as sentences with what helps.
import type { RetriedReason, VoiceCampaign, VoiceRecipient } from "../api/voice.ts";
import type { Reason } from "./reason.ts";

type HoldReason = VoiceCampaign["holds"][number]["reason"];
type SkipReason = NonNullable<VoiceRecipient["skip_reason"]>;
type WaitReason = NonNullable<VoiceCampaign["waiting_for"]>;

/** Why a voice campaign is paused. */
export const voice_holds: Readonly<Record<HoldReason, Reason>> = {
  trunk: {
    label: "The trunk cannot be used",
    text: "The connection to the carrier is switched off, or the account may not use it any more.",
    advice: "Resume to continue over another trunk, which may show another caller ID.",
  },
  error_threshold: {
    label: "Too many calls fail",
    text: "Too large a share of the last calls failed, so calling stopped.",
    advice: "Look at the reasons below. Resume when the cause is resolved.",
  },
  credit: {
    label: "The credit is used up",
    text: "The account has no credit left for calls.",
    advice: "Add credit, then resume.",
  },
  manual: {
    label: "Paused by a person",
    text: "Someone in your account paused it.",
    advice: "Resume it to continue.",
  },
};

/** Why a running campaign places no calls now. */
export const wait_reasons: Readonly<Record<WaitReason, Reason>> = {
  no_trunk: {
    label: "No way to call",
    text: "No trunk can be used: it is switched off, or its nodes cannot be reached.",
    advice: "An operator looks at the telephony. Calling continues by itself afterwards.",
  },
  calling_window: {
    label: "Outside the calling hours",
    text: "Your account places no calls at this time.",
    advice: "Calling continues by itself.",
  },
  recipient_hours: {
    label: "Outside the calling hours where the recipients are",
    text: "Where the remaining people are, it is too early or too late to call.",
    advice: "Calling continues by itself.",
  },
  account_cap: {
    label: "The cap on calls is reached",
    text: "The operator limits how many calls your account places in an hour or a day.",
    advice: "Calling continues by itself in the next hour or day.",
  },
  token_cap: {
    label: "The token's cap on calls is reached",
    text: "The token that launched the campaign may place a limited number of calls in an hour or a day.",
    advice: "Calling continues by itself in the next hour or day.",
  },
  ai_agent: {
    label: "The AI agent does not answer",
    text: "Its server cannot be reached or refuses the conversation. It is tried again every minute.",
    advice: "An operator looks at the AI agent's server.",
  },
  speech: {
    label: "Texts are being synthesized",
    text: "The texts become speech before the first call.",
    advice: null,
  },
  retry: {
    label: "Waiting for the next attempt",
    text: "Everyone left was busy or did not answer, and is called again later.",
    advice: null,
  },
};

type FailureReason = Reason & {
  /** Whether another attempt could succeed. */
  readonly retry: boolean;
};

const failures = {
  busy: {
    label: "Busy",
    text: "The line was busy at the last attempt.",
    advice: "Retry later.",
    retry: true,
  },
  no_answer: {
    label: "No answer",
    text: "It was not answered, also at the last attempt.",
    advice: "Retry at another time of day.",
    retry: true,
  },
  suppressed: {
    label: "Suppressed",
    text: "They asked for no calls, so they were not called.",
    advice: null,
    retry: false,
  },
  not_synthesized: {
    label: "The text could not be synthesized",
    text: "Their text could not become speech.",
    advice: "Retry. If it happens again, an operator looks at the speech server.",
    retry: true,
  },
  speech_rejected: {
    label: "A prompt could not be synthesized",
    text: "A text with their values could not become speech, so they were not called.",
    advice: "Retry. If it happens again, check their values.",
    retry: true,
  },
  customer_declined: {
    label: "Declined",
    text: "They declined the call.",
    advice: null,
    retry: true,
  },
  customer_unallocated: {
    label: "The number does not exist",
    text: "The carrier does not know this number.",
    advice: "Remove these numbers from your list.",
    retry: false,
  },
  customer_invalid: {
    label: "Not a number for this carrier",
    text: "The carrier does not understand the number.",
    advice: "Check how these numbers are written.",
    retry: false,
  },
  customer_congestion: {
    label: "No capacity at the carrier",
    text: "The carrier had no free line.",
    advice: "Retry later. If it happens often, call more slowly or ask the carrier for more lines.",
    retry: true,
  },
  customer_unreachable: {
    label: "Not reachable",
    text: "The phone was off, without a signal, or the carrier could not reach it.",
    advice: "Retry later.",
    retry: true,
  },
  customer_failed: {
    label: "The call failed",
    text: "The carrier gave a reason that says nothing more.",
    advice: "Retry. If it happens often, ask the carrier.",
    retry: true,
  },
  node_lost: {
    label: "The switch failed",
    text: "The switch that placed the call failed, so how the call ended is not known.",
    advice: "Retry only if a second call does no harm.",
    retry: true,
  },
  calls_per_customer_day: {
    label: "Called often enough today",
    text: "They had been called as often in 24 hours as your account allows.",
    advice: "Call them in a campaign on another day.",
    retry: false,
  },
  number_barred: {
    label: "A number that is never called",
    text: "Emergency, premium and other special numbers are never called.",
    advice: "Remove these numbers from your list.",
    retry: false,
  },
  destination_not_allowed: {
    label: "A country that may not be called",
    text: "The account or its trunk may not call this country.",
    advice: "An operator can allow the country.",
    retry: false,
  },
  ai_agent_unavailable: {
    label: "The AI agent was not available",
    text: "The AI agent's server could not be reached.",
    advice: "An operator looks at it. Then retry.",
    retry: true,
  },
  agent_lost: {
    label: "The AI agent was silent",
    text: "The AI agent was lost before its first word, or silent until they hung up.",
    advice: "An operator looks at it. Then retry.",
    retry: true,
  },
  playback_failed: {
    label: "The audio could not be played",
    text: "They answered, but the switch could not play the message.",
    advice: "Try the content by a test call. Then retry.",
    retry: true,
  },
  answer_missed: {
    label: "The answer was missed",
    text: "They answered while the service was not connected to the switch, and hung up in silence.",
    advice: "Retry.",
    retry: true,
  },
  record_deleted: {
    label: "Not known any more",
    text: "The record of their call was deleted after the time that call records are kept.",
    advice: null,
    retry: false,
  },
} as const satisfies Readonly<
  Record<RetriedReason | SkipReason | "suppressed" | "record_deleted", FailureReason>
>;

/** Why people were not reached, by the reason that the campaign counts. */
export const voice_failures: Readonly<Record<string, FailureReason>> = failures;

/** Returns the reason in a request to retry; null if another attempt would not succeed. */
export function retriedReason(reason: string): RetriedReason | null {
  const found = Object.hasOwn(failures, reason) ? failures[reason as keyof typeof failures] : null;
  return found?.retry ? (reason as RetriedReason) : null;
}

/** Why a person was not reached, if the state does not say it; null otherwise. */
export function whyNotReached({
  state,
  skip_reason,
  call_id,
  ended_reason,
}: Pick<VoiceRecipient, "state" | "skip_reason" | "call_id" | "ended_reason">): string | null {
  if (state === "busy") return ended_reason === "customer_declined" ? ended_reason : null;
  if (state !== "failed" && state !== "skipped") return null;
  return skip_reason ?? ended_reason ?? (call_id === null ? "not_synthesized" : "record_deleted");
}
