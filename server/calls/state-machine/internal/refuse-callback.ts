// The callbacks that a caller may be promised.
import { mayCallCustomer, type CustomerOfCall } from "../../customer-hours.ts";
import type { VoiceCallPlan } from "../voice-plan.ts";

const callback_ms_max = 90 * 86_400_000;

/** A recipient is called back at most this often, so that no AI agent calls a person forever. */
export const callbacks_max = 5;

/** Why a callback cannot be promised. */
export type CallbackRefusal = "past" | "too_far" | "outside_window" | "too_many";

/** The customer of a call, who may be promised another one. */
export type CalledBack = CustomerOfCall & {
  readonly voice: Pick<VoiceCallPlan, "recipient_id" | "callbacks"> | null;
};

/** Returns why the caller cannot be promised a call at this time, or null. */
export function refuseCallback(
  call: CalledBack,
  callback_at: Date,
  now: Date,
): CallbackRefusal | null {
  const { voice } = call;
  const in_ms = callback_at.getTime() - now.getTime();
  if (!voice || voice.recipient_id === null || voice.callbacks >= callbacks_max) return "too_many";
  if (in_ms <= 0) return "past";
  if (in_ms > callback_ms_max) return "too_far";
  return mayCallCustomer(call, callback_at) ? null : "outside_window";
}
