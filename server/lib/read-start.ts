import { parseTime } from "./parse-time.ts";

/** Times within this distance from now mean now. */
const now_within_ms = 60_000;

/**
 * Parses the start of a campaign or call: a time, or null for now, which an empty text also means. Returns the
 * reason if the text is not a time or is in the past.
 */
export function readStart(text: string, timeZone: string, now: Date): Date | string | null {
  if (text === "") return null;
  const time = parseTime(text, timeZone);
  if (typeof time === "string") return time;
  const ahead_ms = time.getTime() - now.getTime();
  if (ahead_ms < -now_within_ms) return "must not be in the past; omit it to start now";
  return ahead_ms > now_within_ms ? time : null;
}
