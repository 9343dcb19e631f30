// The state of a campaign's recipient after a call to them.
import type { LegOutcome } from "../../../drivers/voice/driver.ts";
import type { Call } from "../call.ts";
import { isWithdrawn, wasNotDialed } from "../call-outcomes.ts";
import { customerDueFrom, customerZones } from "../../customer-hours.ts";
import { callbacks_max } from "../internal/refuse-callback.ts";

/** States after which the recipient is not called again. */
export type FinalState =
  | "answered"
  | "machine"
  | "busy"
  | "no_answer"
  | "failed"
  | "suppressed"
  | "skipped"
  | "cancelled";

export type RecipientOutcome = {
  readonly state: "waiting" | FinalState;
  /** The state instead of `waiting` if the campaign has ended by now. */
  readonly otherwise: FinalState;
  /** When a waiting recipient is due. */
  readonly due_at: Date | null;
  /** The caller asked for a callback, which does not count as an attempt. */
  readonly callback: boolean;
  /** No leg was dialed: it does not count as an attempt. */
  readonly uncounted: boolean;
  /**
   * The zones, joined by `&`, that replace the stored ones: those of the contacts may have changed since the launch, and
   * claims go by the stored ones. Null keeps these.
   */
  readonly time_zones: string | null;
};

const day_ms = 86_400_000;

/** The shortest wait before another call: a busy phone is rarely free at once, and rings in a row are harassment. */
const retry_ms_min = 60_000;

/** Dispositions that are retried; a declined call or an unallocated number is not. */
export const retryable: ReadonlySet<string> = new Set<LegOutcome>([
  "busy",
  "no_answer",
  "congestion",
  "unreachable",
  "failed",
]);

/** Returns the recipient's state after an ended call; null for a call without one. */
export function recipientOutcome(call: Call): RecipientOutcome | null {
  const { voice, ended_at, callback_at } = call;
  if (!voice || voice.recipient_id === null || !ended_at) return null;
  const otherwise = finalState(call);
  const uncounted = wasNotDialed(call);
  const unchanged = { due_at: null, callback: false, uncounted, time_zones: null };
  const ended = { ...unchanged, state: otherwise, otherwise };
  const waiting = {
    ...ended,
    state: "waiting",
    time_zones: customerZones(call).join("&"),
  } as const;
  if (otherwise === "skipped") return ended;
  if (isWithdrawn(call)) return { ...waiting, due_at: dueAfterWithdrawal(call, ended_at) };
  if (call.opted_out) return ended;
  if (callback_at && voice.callbacks < callbacks_max)
    return { ...waiting, due_at: callbackDueAt(callback_at, ended_at), callback: true };
  const due_at = retryAt(call);
  return due_at ? { ...waiting, due_at } : ended;
}

/**
 * Returns when a recipient whose leg was not dialed is due: at night, when the customer's window opens; during another
 * call of the customer, a minute later, as the claim defers them.
 */
function dueAfterWithdrawal(call: Call, ended_at: Date): Date {
  if (call.ended_reason === "already_in_call") return new Date(ended_at.getTime() + retry_ms_min);
  if (call.ended_reason !== "night_window") return ended_at;
  // The settings may change before a window that never opens is tried again.
  return customerDueFrom(call, ended_at) ?? new Date(ended_at.getTime() + day_ms);
}

/** Returns when a promised callback is due: its time may have passed during the call. */
function callbackDueAt(callback_at: Date, ended_at: Date): Date {
  const earliest = new Date(ended_at.getTime() + retry_ms_min);
  return callback_at > earliest ? callback_at : earliest;
}

/** Returns when the retry is due, or null. */
function retryAt({ voice, attempt, disposition, ended_at }: Call): Date | null {
  const { attempts_max, callbacks, answering_machine, retry_after_minutes } = voice!;
  const isMachine = disposition === "machine" && answering_machine === "retry";
  const isRetryable = isMachine || retryable.has(disposition ?? "");
  if (!isRetryable || attempt >= attempts_max + callbacks) return null;
  return retryDueAt(ended_at!, retry_after_minutes);
}

/** Returns when an automatic retry is due: after a minute if the request says 0. */
export function retryDueAt(ended_at: Date, retry_after_minutes: number): Date {
  return new Date(ended_at.getTime() + Math.max(retry_ms_min, retry_after_minutes * 60_000));
}

function finalState({ disposition, ended_reason, answered_by, answered_at }: Call): FinalState {
  // Perhaps answered, but nothing was played.
  if (disposition === "failed" || ended_reason === "speech_rejected") return "failed";
  if (answered_at !== null) return answered_by === "machine" ? "machine" : "answered";
  if (ended_reason === "suppressed") return "suppressed";
  if (ended_reason === "number_barred" || ended_reason === "destination_not_allowed")
    return "skipped";
  switch (disposition) {
    case "busy":
    case "declined":
      return "busy";
    case "no_answer":
      return "no_answer";
    case "canceled":
      return "cancelled";
    default:
      return "failed";
  }
}
