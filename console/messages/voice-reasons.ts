// Why voice campaigns wait or are paused, and why people were not reached, as sentences with what helps.
import type { RetriedOutcome, VoiceCampaign } from "../api/voice.ts";
import type { Reason } from "./reason.ts";

type HoldReason = VoiceCampaign["holds"][number]["reason"];
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
  /** The outcomes of calls that another attempt could change. */
  readonly retry: readonly RetriedOutcome[] | null;
};

/** Why people were not reached, by the state or reason that the campaign counts. */
export const voice_failures: Readonly<Record<string, FailureReason>> = {
  busy: {
    label: "Busy",
    text: "The line was busy at the last attempt.",
    advice: "Retry later.",
    retry: ["busy"],
  },
  no_answer: {
    label: "No answer",
    text: "It was not answered, also at the last attempt.",
    advice: "Retry at another time of day.",
    retry: ["no_answer"],
  },
  suppressed: {
    label: "Suppressed",
    text: "They asked for no calls, so they were not called.",
    advice: null,
    retry: null,
  },
  not_synthesized: {
    label: "The text could not be synthesized",
    text: "Their text could not become speech.",
    advice: "Retry. If it happens again, an operator looks at the speech server.",
    retry: ["failed"],
  },
  customer_declined: {
    label: "Declined",
    text: "They declined the call.",
    advice: null,
    retry: ["declined"],
  },
  customer_unallocated: {
    label: "The number does not exist",
    text: "The carrier does not know this number.",
    advice: "Remove these numbers from your list.",
    retry: null,
  },
  customer_invalid: {
    label: "Not a number for this carrier",
    text: "The carrier does not understand the number.",
    advice: "Check how these numbers are written.",
    retry: null,
  },
  customer_congestion: {
    label: "No capacity at the carrier",
    text: "The carrier had no free line.",
    advice: "Retry later. If it happens often, call more slowly or ask the carrier for more lines.",
    retry: ["congestion"],
  },
  customer_unreachable: {
    label: "Not reachable",
    text: "The phone was off, without a signal, or the carrier could not reach it.",
    advice: "Retry later.",
    retry: ["unreachable"],
  },
  customer_failed: {
    label: "The call failed",
    text: "The carrier gave a reason that says nothing more.",
    advice: "Retry. If it happens often, ask the carrier.",
    retry: ["failed"],
  },
  node_lost: {
    label: "The switch failed",
    text: "The switch that placed the call failed, so how the call ended is not known.",
    advice: "Retry only if a second call does no harm.",
    retry: ["lost"],
  },
  calls_per_customer_day: {
    label: "Called often enough today",
    text: "They had been called as often in 24 hours as your account allows.",
    advice: "Call them in a campaign on another day.",
    retry: null,
  },
  number_barred: {
    label: "A number that is never called",
    text: "Emergency, premium and other special numbers are never called.",
    advice: "Remove these numbers from your list.",
    retry: null,
  },
  destination_not_allowed: {
    label: "A country that may not be called",
    text: "The account or its trunk may not call this country.",
    advice: "An operator can allow the country.",
    retry: null,
  },
  ai_agent_unavailable: {
    label: "The AI agent was not available",
    text: "The AI agent's server could not be reached.",
    advice: "An operator looks at it. Then retry.",
    retry: ["failed"],
  },
};
