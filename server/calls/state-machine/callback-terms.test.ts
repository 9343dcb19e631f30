import assert from "node:assert/strict";
import { test } from "node:test";
import { callValue } from "../../../test/support/call-values.ts";
import type { Call } from "./call.ts";
import type { VoiceCallPlan } from "./voice-plan.ts";
import { callbackTerms } from "./callback-terms.ts";

const clock = { now: () => new Date("2026-11-22T14:00:30Z") };
const terms = (settings: Partial<Call["settings"]>, callbacks = 0) =>
  callbackTerms(clock, callValue({ settings, voice: { callbacks } as VoiceCallPlan }));
const kolkata = {
  time_zone: "Asia/Kolkata",
  night_calling: false,
  calling_from: "09:00:00",
  calling_to: "21:00:00",
};

test("names the date, the time, the time zone and the calling window", () => {
  assert.equal(
    terms(kolkata).briefing,
    "It is Sunday, 2026-11-22T19:30+05:30 in the time zone Asia/Kolkata. " +
      "Calls are placed every day from 09:00 to 21:00 in the time zone Asia/Kolkata.",
  );
  assert.equal(
    terms({ time_zone: "America/St_Johns" }).briefing,
    "It is Sunday, 2026-11-22T10:30-03:30 in the time zone America/St_Johns. " +
      "Calls are placed at any time of day.",
  );
});

test("refuses times in the past, too far ahead or outside the calling window, and too many callbacks", () => {
  const refuse = (at: string, callbacks = 0) => terms(kolkata, callbacks).refuse(new Date(at));
  assert.equal(refuse("2026-11-23T09:00:00+05:30"), null);
  assert.match(refuse("2026-11-22T19:31:00+05:30")!, /in the future.*2026-11-22T19:30\+05:30/);
  assert.match(refuse("2025-11-22T19:31:00+05:30")!, /in the future/);
  assert.match(refuse("2027-11-23T09:00:00+05:30")!, /within 90 days/);
  assert.match(refuse("2026-11-23T08:59:00+05:30")!, /from 09:00 to 21:00 in the time zone Asia/);
  assert.equal(refuse("2026-11-23T09:00:00+05:30", 4), null);
  assert.match(refuse("2026-11-23T09:00:00+05:30", 5)!, /no further callback/);
});
