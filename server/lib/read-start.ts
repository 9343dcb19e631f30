import { parseTime } from "./parse-time.ts";

/** A time at most so far from now, before or after, means now. */
const now_within_ms = 60_000;

/**
 * Reads when a campaign or a call starts: a time, or null for now, which an empty text means, too.
 * Returns the reason when the text is not a time, or is in the past.
 */
export function readStart(text: string, timeZone: string, now: Date): Date | string | null {
  if (text === "") return null;
  const time = parseTime(text, timeZone);
  if (typeof time === "string") return time;
  const ahead_ms = time.getTime() - now.getTime();
  if (ahead_ms < -now_within_ms) return "is in the past; leave it out to start now";
  return ahead_ms > now_within_ms ? time : null;
}
