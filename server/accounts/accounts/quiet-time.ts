// When an account's quiet time ends, by the wall clock of its time zone.
import { dailySpan, endOfSpan, isWithin } from "./internal/daily-span.ts";

export type QuietTime = {
  /** IANA name. */
  readonly time_zone: string;
  /** `HH:MM` or `HH:MM:SS`; both or neither. 22:00 to 08:00 crosses midnight. */
  readonly chat_quiet_from: string | null;
  readonly chat_quiet_to: string | null;
};

/** Returns the end of the quiet time that `now` is in; null outside quiet time. */
export function quietUntil(settings: QuietTime, now: Date): Date | null {
  const { time_zone, chat_quiet_from, chat_quiet_to } = settings;
  if (chat_quiet_from === null || chat_quiet_to === null) return null;
  const span = dailySpan(time_zone, chat_quiet_from, chat_quiet_to);
  return isWithin(span, now) ? endOfSpan(span, now) : null;
}
