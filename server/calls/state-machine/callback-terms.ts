// The callback terms of an AI agent: the current time, and the times that it may promise.
import type { CallbackTerms } from "../../drivers/ai-agent/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { zoneOffset } from "../../lib/parse-time.ts";
import {
  refuseCallback,
  type CallbackRefusal,
  type CalledBack,
} from "./internal/refuse-callback.ts";

/** The least time between the promise and the call, which has to end first. */
const ahead_ms_min = 60_000;

/** Returns the terms for the callbacks of a voice call. */
export function callbackTerms(clock: Clock, call: CalledBack): CallbackTerms {
  const { time_zone } = call.settings;
  const window = describeWindow(call.settings);
  return {
    briefing: `It is ${describeTime(clock.now(), time_zone)}. ${window}`,
    refuse(at) {
      const now = clock.now();
      const refusal = refuseCallback(call, at, new Date(now.getTime() + ahead_ms_min));
      return refusal && describeRefusal(refusal, describeTime(now, time_zone), window);
    },
  };
}

function describeRefusal(refusal: CallbackRefusal, now: string, window: string): string {
  switch (refusal) {
    case "past":
      return `at must be in the future, at least a minute from now; it is ${now}`;
    case "too_far":
      return `at must be within 90 days; it is ${now}`;
    case "outside_window":
      return `at must be a time at which calls are placed. ${window} Propose such a time to the caller.`;
    case "too_many":
      return "no further callback can be scheduled for this caller; say so";
  }
}

function describeWindow({
  night_calling,
  calling_from,
  calling_to,
  time_zone,
}: CalledBack["settings"]): string {
  const [from, to] = [calling_from.slice(0, 5), calling_to.slice(0, 5)];
  const isAlways = night_calling || (from === "00:00" && to === "24:00");
  if (isAlways) return "Calls are placed at any time of day.";
  return `Calls are placed every day from ${from} to ${to} in the time zone ${time_zone}.`;
}

/** Returns a text such as `Sunday, 2026-11-22T19:30+05:30 in the time zone Asia/Kolkata`. */
function describeTime(at: Date, time_zone: string): string {
  const offset_ms = zoneOffset(time_zone, at.getTime());
  const local = new Date(at.getTime() + offset_ms);
  const day = new Intl.DateTimeFormat("en", { weekday: "long", timeZone: "UTC" }).format(local);
  const minutes = Math.abs(offset_ms) / 60_000;
  const pad = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const offset = `${offset_ms < 0 ? "-" : "+"}${pad(minutes / 60)}:${pad(minutes % 60)}`;
  return `${day}, ${local.toISOString().slice(0, 16)}${offset} in the time zone ${time_zone}`;
}
