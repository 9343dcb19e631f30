// When an account may place calls, by the wall clock of its time zone.
import { dailySpan, endOfSpan, isWithin, restOfDay } from "./internal/daily-span.ts";

const day_ms = 86_400_000;

export type CallingWindow = {
  /** IANA name. */
  readonly time_zone: string;
  /** Disables the window. */
  readonly night_calling: boolean;
  /** Start of the window, `HH:MM` or `HH:MM:SS`. */
  readonly calling_from: string;
  /** End of the window, on the next day if earlier. 00:00 to 24:00 is always; equal times are never. */
  readonly calling_to: string;
};

/** Reports whether a call may be placed at `at`. */
export function mayCallAt(settings: CallingWindow, at: Date): boolean {
  return settings.night_calling || isWithin(spanOf(settings), at);
}

/** Returns the first instant from `at` on at which a call may be placed; null if there is none. */
export function callableFrom(settings: CallingWindow, at: Date): Date | null {
  if (mayCallAt(settings, at)) return at;
  const open = spanOf(settings);
  return open.length_ms === 0 ? null : endOfSpan(restOfDay(open), at);
}

/**
 * Returns the instant by which calls could be placed for `length_ms` in total from `at` on; null if
 * that is more than a year away.
 */
export function callableFor(settings: CallingWindow, at: Date, length_ms: number): Date | null {
  const open = spanOf(settings);
  const isAlways = settings.night_calling || open.length_ms === day_ms;
  if (isAlways) return new Date(at.getTime() + length_ms);
  let left_ms = length_ms;
  for (let from = callableFrom(settings, at), days = 0; from && days < 366; days++) {
    const end = endOfSpan(open, from);
    const open_ms = end.getTime() - from.getTime();
    if (left_ms <= open_ms) return new Date(from.getTime() + left_ms);
    left_ms -= open_ms;
    from = callableFrom(settings, end);
  }
  return null;
}

function spanOf({ time_zone, calling_from, calling_to }: CallingWindow) {
  return dailySpan(time_zone, calling_from, calling_to);
}
