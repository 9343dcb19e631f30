// A span of every day by a zone's wall clock: times that clocks skip are absent, and times that they
// repeat occur twice.
import { zoneOffset } from "../../../lib/parse-time.ts";

export type DailySpan = {
  /** IANA name. */
  readonly time_zone: string;
  /** Start, in milliseconds since midnight. */
  readonly from_ms: number;
  /** 0 is never; a whole day is always. */
  readonly length_ms: number;
};

const day_ms = 86_400_000;

/**
 * Returns the span from one time of day (`HH:MM` or `HH:MM:SS`, up to 24:00) to another, across midnight
 * if that is not later. Equal times are never, 00:00 to 24:00 is always.
 */
export function dailySpan(time_zone: string, from: string, to: string): DailySpan {
  const [from_ms, to_ms] = [timeOfDay(from), timeOfDay(to)];
  const length_ms = to_ms > from_ms ? to_ms - from_ms : modulo(to_ms - from_ms, day_ms);
  return { time_zone, from_ms, length_ms };
}

/** Returns the rest of each day. */
export function restOfDay({ time_zone, from_ms, length_ms }: DailySpan): DailySpan {
  return { time_zone, from_ms: from_ms + length_ms, length_ms: day_ms - length_ms };
}

export function isWithin(span: DailySpan, at: Date): boolean {
  return isWithinMs(span, at.getTime());
}

/** Returns the first instant from `at` on that is outside the span; the span must not be always. */
export function endOfSpan(span: DailySpan, at: Date): Date {
  const { time_zone, from_ms, length_ms } = span;
  let at_ms = at.getTime();
  while (isWithinMs(span, at_ms)) {
    const end_ms = at_ms + modulo(from_ms + length_ms - wallTime(time_zone, at_ms), day_ms);
    at_ms = changeOfOffset(time_zone, at_ms, end_ms) ?? end_ms;
  }
  return new Date(at_ms);
}

function isWithinMs({ time_zone, from_ms, length_ms }: DailySpan, at_ms: number): boolean {
  return modulo(wallTime(time_zone, at_ms) - from_ms, day_ms) < length_ms;
}

function wallTime(timeZone: string, at_ms: number): number {
  return modulo(at_ms + zoneOffset(timeZone, at_ms), day_ms);
}

/** Returns when the zone's offset changes between `after_ms` and `until_ms`, at most a day later, or null. */
function changeOfOffset(timeZone: string, after_ms: number, until_ms: number): number | null {
  const before = zoneOffset(timeZone, after_ms);
  if (zoneOffset(timeZone, until_ms) === before) return null;
  let [old_ms, new_ms] = [after_ms, until_ms];
  while (new_ms - old_ms > 1) {
    const middle_ms = Math.floor((old_ms + new_ms) / 2);
    if (zoneOffset(timeZone, middle_ms) === before) old_ms = middle_ms;
    else new_ms = middle_ms;
  }
  return new_ms;
}

function timeOfDay(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000;
}

/** Returns a remainder that is never negative. */
function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
