// When an account's quiet time ends. It goes by the wall clock of the account's zone: what clocks
// skip is not there, and what they show twice is quiet twice.
import { zoneOffset } from "../lib/parse-time.ts";

export type QuietTime = {
  /** IANA name. */
  readonly time_zone: string;
  /** `HH:MM` or `HH:MM:SS`, both or neither; from 22:00 to 08:00 is quiet across midnight. */
  readonly chat_quiet_from: string | null;
  readonly chat_quiet_to: string | null;
};

const day_ms = 86_400_000;

/** The first instant after `now` that is not quiet; null when `now` is not quiet. */
export function quietUntil(settings: QuietTime, now: Date): Date | null {
  const { time_zone, chat_quiet_from, chat_quiet_to } = settings;
  if (chat_quiet_from === null || chat_quiet_to === null) return null;
  const [from_ms, to_ms] = [timeOfDay(chat_quiet_from), timeOfDay(chat_quiet_to)];
  const length_ms = modulo(to_ms - from_ms, day_ms);
  const wallTime = (at_ms: number) => modulo(at_ms + zoneOffset(time_zone, at_ms), day_ms);
  const isQuiet = (at_ms: number) => modulo(wallTime(at_ms) - from_ms, day_ms) < length_ms;
  let at_ms = now.getTime();
  if (!isQuiet(at_ms)) return null;
  while (isQuiet(at_ms)) {
    const end_ms = at_ms + modulo(to_ms - wallTime(at_ms), day_ms);
    at_ms = changeOfOffset(time_zone, at_ms, end_ms) ?? end_ms;
  }
  return new Date(at_ms);
}

/** When the zone changes its offset after `after_ms` and until `until_ms`, which is at most a day later. */
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

/** Never negative. */
function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
