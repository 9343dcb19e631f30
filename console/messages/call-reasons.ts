// Why calls ended, as sentences with what helps.
import type { Call, CallDetail } from "../api/call-records.ts";
import { reasonOf, type Reason } from "./reason.ts";

const reason = (label: string, text: string, advice: string | null = null): Reason => ({
  label,
  text,
  advice,
});

/** Why a call ended, and who hung up; null while it lasts. */
export function whyCallEnded({
  ended_reason,
  ended_by,
  ended_by_user,
}: Pick<Call, "ended_reason" | "ended_by"> &
  Partial<Pick<CallDetail, "ended_by_user">>): Reason | null {
  if (ended_reason === null) return null;
  if (ended_reason === "hung_up" && ended_by === "agent") return agent_hung_up;
  if (ended_reason === "hung_up" && ended_by === "customer") return customer_hung_up;
  const words = reasonOf(call_reasons, ended_reason);
  return ended_by_user ? { ...words, text: `${ended_by_user.name} ended the call.` } : words;
}

const agent_hung_up = reason("The agent hung up", "The agent ended the call.");
const customer_hung_up = reason("The customer hung up", "The customer ended the call.");

/** By `ended_reason` of a call record. */
export const call_reasons: Readonly<Record<string, Reason>> = {
  hung_up: reason("Hung up", "One of the two hung up."),
  played: reason("Played to the end", "The message was played to its end."),
  playback_failed: reason(
    "The audio could not be played",
    "The switch could not play the message.",
    "Try the content by a test call.",
  ),
  answering_machine: reason("A machine answered", "The call ended when a machine answered."),
  menu_ended: reason("The menu ended", "The menu hung up at its end."),
  opted_out: reason("Opted out", "The customer asked for no more calls and is suppressed."),
  callback_requested: reason("A callback was asked for", "The customer is called back."),
  agent_ended: reason("The AI agent ended it", "The AI agent ended the conversation."),
  agent_busy: reason("The agent was busy", "The agent was on another call."),
  agent_no_answer: reason("The agent did not answer", "No agent answered in time."),
  agent_declined: reason("The agent declined", "The agent declined the call."),
  no_free_agent: reason("No agent was free", "No agent was free to ring.", "Try again later."),
  agent_unallocated: reason(
    "The agent's number does not exist",
    "The carrier does not know the agent's number.",
    "Check the number.",
  ),
  agent_invalid: reason(
    "The agent's number is not one for this carrier",
    "The carrier does not understand the agent's number.",
    "Check how the number is written.",
  ),
  agent_congestion: reason(
    "No capacity to call the agent",
    "There was no free line to the agent.",
    "Try again later.",
  ),
  agent_unreachable: reason(
    "The agent was not reachable",
    "The agent's phone was off or not connected.",
    "Connect the phone and try again.",
  ),
  agent_failed: reason(
    "The call to the agent failed",
    "It failed for a reason that says nothing more.",
    "Try again.",
  ),
  agent_canceled: reason(
    "The call to the agent was ended",
    "It was ended before the agent answered.",
  ),
  agent_hung_up: reason(
    "The agent hung up first",
    "The agent answered and hung up before the customer answered.",
  ),
  customer_busy: reason("The customer was busy", "The customer's line was busy."),
  customer_no_answer: reason("The customer did not answer", "The customer did not answer in time."),
  customer_declined: reason("The customer declined", "The customer declined the call."),
  customer_unallocated: reason(
    "The number does not exist",
    "The carrier does not know this number.",
    "Check the number.",
  ),
  customer_invalid: reason(
    "Not a number for this carrier",
    "The carrier does not understand the number.",
    "Check how the number is written.",
  ),
  customer_congestion: reason(
    "No capacity at the carrier",
    "The carrier had no free line.",
    "Try again later.",
  ),
  customer_unreachable: reason(
    "The customer was not reachable",
    "The phone was off, without a signal, or the carrier could not reach it.",
    "Try again later.",
  ),
  customer_failed: reason(
    "The call failed",
    "The carrier gave a reason that says nothing more.",
    "Try again. If it happens often, ask the carrier.",
  ),
  customer_canceled: reason(
    "The call was ended before an answer",
    "It was ended before the customer answered.",
  ),
  answer_missed: reason(
    "The answer was missed",
    "The customer answered while the service was not connected to the switch, and hung up in silence.",
    "Call again.",
  ),
  hung_up_by_api: reason(
    "Ended by a user or program",
    "It was ended in the console or by a program.",
  ),
  transfer_not_answered: reason(
    "The transfer was not answered",
    "No agent answered after the transfer.",
  ),
  too_long: reason(
    "The longest talk time was reached",
    "The account limits how long a conversation lasts.",
  ),
  credit: reason(
    "The credit was used up",
    "There was no credit for the next pulse.",
    "Add credit.",
  ),
  suppressed: reason("Suppressed", "The number is suppressed, so it was not called."),
  already_in_call: reason("Already in a call", "The customer was on another call of yours."),
  night_window: reason(
    "Outside the calling hours",
    "It was too early or too late to call, where the customer is.",
  ),
  calls_per_customer_day: reason(
    "Called often enough today",
    "The customer had been called as often in 24 hours as your account allows.",
  ),
  account_cap: reason(
    "The cap on calls was reached",
    "The operator limits how many calls your account places.",
    "Try again in the next hour or day.",
  ),
  token_cap: reason(
    "The token's cap was reached",
    "The token may place a limited number of calls.",
    "Try again in the next hour or day.",
  ),
  number_cap: reason(
    "The number's cap was reached",
    "This phone may be called a limited number of times.",
    "Try again in the next hour or day.",
  ),
  number_barred: reason(
    "A number that is never called",
    "Emergency, premium and other special numbers are never called.",
  ),
  destination_not_allowed: reason(
    "A country that may not be called",
    "The account or its trunk may not call this country.",
    "An operator can allow it.",
  ),
  caller_id_not_allowed: reason(
    "The caller ID is not allowed",
    "The account may not show this number any more.",
  ),
  not_allowed: reason("Not allowed any more", "The account lost the feature or the trunk."),
  too_late: reason("Too late", "The call waited for more than an hour."),
  node_lost: reason("The switch failed", "The switch failed, or was out of contact for too long."),
  node_unavailable: reason(
    "The switch was out of contact",
    "The switch could not be reached, so no phone rang.",
  ),
  held: reason("The campaign was paused", "Its campaign was paused or cancelled before the call."),
  ai_agent_unavailable: reason(
    "The AI agent was not available",
    "The AI agent's server could not be reached.",
    "An operator looks at it.",
  ),
  agent_lost: reason(
    "The AI agent was lost",
    "The AI agent stopped, or was silent until the customer hung up.",
    "An operator looks at it.",
  ),
  silence: reason("Nothing was said", "The customer and the AI agent were silent for too long."),
  speech_unavailable: reason(
    "Texts could not be synthesized",
    "The text-to-speech did not work, so the call was not placed.",
    "An operator looks at the text-to-speech.",
  ),
  speech_rejected: reason(
    "The text could not be synthesized",
    "A text with the customer's values could not become speech, so the call was not placed.",
    "Check the values.",
  ),
};
