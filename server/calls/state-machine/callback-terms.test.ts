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

test("names the customer's time zones that narrow the window, and the next time at which calls are placed", () => {
  const callTo = (contact_time_zones: readonly string[], settings = kolkata) =>
    callbackTerms(
      clock,
      callValue({ settings, contact_time_zones, voice: { callbacks: 0 } as VoiceCallPlan }),
    );
  const { briefing, refuse } = callTo(["America/New_York", "America/Toronto", "Asia/Kolkata"]);
  const window =
    "Calls are placed every day from 09:00 to 21:00 by the clocks of all these time zones: " +
    "Asia/Kolkata, America/New_York.";
  assert.ok(briefing.endsWith(window), briefing);
  assert.equal(
    refuse(new Date("2026-11-23T10:00:00+05:30")),
    "at must be a time at which calls are placed. " +
      "The next such time is Monday, 2026-11-23T19:30+05:30 in the time zone Asia/Kolkata: " +
      `propose it to the caller. ${window}`,
  );
  assert.equal(refuse(new Date("2026-11-23T19:30:00+05:30")), null);
  const never = callTo(["America/New_York"], { ...kolkata, calling_to: "18:00:00" });
  assert.match(
    never.refuse(new Date("2026-11-23T10:00:00+05:30"))!,
    /are placed\. There is none\./,
  );
});
