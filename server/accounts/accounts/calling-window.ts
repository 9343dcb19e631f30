// When an account may place calls, by the wall clocks of its own time zone and of the customer's.
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
 * Reports whether a customer may be called at `at`: the account's window must be open by the account's clock and
 * by the clock of every zone the customer may be in.
 */
export function mayCallCustomerAt(
  settings: CallingWindow,
  customer_zones: readonly string[],
  at: Date,
): boolean {
  return windowsOf(settings, customer_zones).every((window) => mayCallAt(window, at));
}

/** Openings tried before the windows count as never open at once: three weeks with the 41 zones of +1. */
const openings_max = 1_000;

/** Returns the first instant from `at` on at which the customer may be called; null if there is none. */
export function customerCallableFrom(
  settings: CallingWindow,
  customer_zones: readonly string[],
  at: Date,
): Date | null {
  const windows = windowsOf(settings, customer_zones);
  const closedAt = (instant: Date) => windows.find((window) => !mayCallAt(window, instant));
  let from: Date | null = at;
  for (let jumps = 0; from && jumps < openings_max; jumps++) {
    const closed = closedAt(from);
    if (!closed) return from;
    from = callableFrom(closed, from);
  }
  return null;
}

function windowsOf(settings: CallingWindow, customer_zones: readonly string[]): CallingWindow[] {
  if (settings.night_calling) return [];
  return [settings, ...customer_zones.map((time_zone) => ({ ...settings, time_zone }))];
}

/**
 * Returns the instant by which the customer could be called for `length_ms` in total from `at` on; null if that is
 * more than a year away.
 */
export function callableFor(
  settings: CallingWindow,
  customer_zones: readonly string[],
  at: Date,
  length_ms: number,
): Date | null {
  const spans = windowsOf(settings, customer_zones).map(spanOf);
  const limits = spans.filter((span) => span.length_ms < day_ms);
  if (limits.length === 0) return new Date(at.getTime() + length_ms);
  let left_ms = length_ms;
  let from = customerCallableFrom(settings, customer_zones, at);
  for (let days = 0; from && days < 366; days++) {
    const started_at = from;
    const end_ms = Math.min(...limits.map((span) => endOfSpan(span, started_at).getTime()));
    const open_ms = end_ms - started_at.getTime();
    if (left_ms <= open_ms) return new Date(started_at.getTime() + left_ms);
    left_ms -= open_ms;
    from = customerCallableFrom(settings, customer_zones, new Date(end_ms));
  }
  return null;
}

function spanOf({ time_zone, calling_from, calling_to }: CallingWindow) {
  return dailySpan(time_zone, calling_from, calling_to);
}
