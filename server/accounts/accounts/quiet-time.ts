// When an account's quiet time ends, by the wall clock of the account's zone.
import { dailySpan, endOfSpan, isWithin } from "./internal/daily-span.ts";

export type QuietTime = {
  /** IANA name. */
  readonly time_zone: string;
  /** `HH:MM` or `HH:MM:SS`, both or neither; from 22:00 to 08:00 is quiet across midnight. */
  readonly chat_quiet_from: string | null;
  readonly chat_quiet_to: string | null;
};

/** The first instant after `now` that is not quiet; null when `now` is not quiet. */
export function quietUntil(settings: QuietTime, now: Date): Date | null {
  const { time_zone, chat_quiet_from, chat_quiet_to } = settings;
  if (chat_quiet_from === null || chat_quiet_to === null) return null;
  const span = dailySpan(time_zone, chat_quiet_from, chat_quiet_to);
  return isWithin(span, now) ? endOfSpan(span, now) : null;
}
