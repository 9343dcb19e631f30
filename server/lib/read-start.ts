import { parseTime } from "./parse-time.ts";

/** How far from now a time still means now. */
const tolerance_ms = 60_000;

/** When a campaign begins, null for now (which "" is, too), or why it cannot begin then. */
export function readStart(text: string, timeZone: string, now: Date): Date | string | null {
  if (text === "") return null;
  const time = parseTime(text, timeZone);
  if (typeof time === "string") return time;
  const ahead_ms = time.getTime() - now.getTime();
  if (ahead_ms < -tolerance_ms) return "is in the past; leave it out to begin now";
  return ahead_ms > tolerance_ms ? time : null;
}
