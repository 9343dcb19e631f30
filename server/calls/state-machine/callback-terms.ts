// The callback terms of an AI agent: the current time, and the times that it may promise.
import type { CallbackTerms } from "../../drivers/ai-agent/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { zoneOffset } from "../../lib/parse-time.ts";
import { customerDueFrom, customerZones } from "../customer-hours.ts";
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
  const window = describeWindow(call, clock.now());
  return {
    briefing: `It is ${describeTime(clock.now(), time_zone)}. ${window}`,
    refuse(at) {
      const now = clock.now();
      const refusal = refuseCallback(call, at, new Date(now.getTime() + ahead_ms_min));
      if (refusal === "outside_window") return `${describeNextTime(call, at)} ${window}`;
      return refusal && describeRefusal(refusal, describeTime(now, time_zone));
    },
  };
}

function describeRefusal(refusal: Exclude<CallbackRefusal, "outside_window">, now: string): string {
  switch (refusal) {
    case "past":
      return `at must be in the future, at least a minute from now; it is ${now}`;
    case "too_far":
      return `at must be within 90 days; it is ${now}`;
    case "too_many":
      return "no further callback can be scheduled for this caller; say so";
  }
}

function describeNextTime(call: CalledBack, at: Date): string {
  const next = customerDueFrom(call, at);
  const proposal = next
    ? `The next such time is ${describeTime(next, call.settings.time_zone)}: propose it to the caller.`
    : "There is none.";
  return `at must be a time at which calls are placed. ${proposal}`;
}

function describeWindow(call: CalledBack, now: Date): string {
  const { night_calling, calling_from, calling_to, time_zone } = call.settings;
  const [from, to] = [calling_from.slice(0, 5), calling_to.slice(0, 5)];
  const isAlways = night_calling || (from === "00:00" && to === "24:00");
  if (isAlways) return "Calls are placed at any time of day.";
  const times = `Calls are placed every day from ${from} to ${to}`;
  const zones = differingZones([time_zone, ...customerZones(call)], now);
  return zones.length === 1
    ? `${times} in the time zone ${time_zone}.`
    : `${times} by the clocks of all these time zones: ${zones.join(", ")}.`;
}

/** Returns the first zone of each offset: a country of the customer can have dozens. */
function differingZones(zones: readonly string[], now: Date): readonly string[] {
  const offsets = zones.map((zone) => zoneOffset(zone, now.getTime()));
  return zones.filter((_, index) => offsets.indexOf(offsets[index]!) === index);
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
