import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { callValue } from "../../../../test/support/call-values.ts";
import { callName } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { limitDuration } from "./limit-duration.ts";

const noon_ms = Date.parse("2026-03-01T12:00:00Z");

test("hangs up a conversation at the account's maximum duration, also when another leader takes it over midway", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: noon_ms });
  const events: CallEvent[] = [];
  const call = callValue({
    stage: "talking",
    answered_at: new Date(noon_ms - 20 * 60_000),
    settings: { talk_minutes_max: 30 },
  });
  const live = { call, duration_timer: null } as LiveCall;
  const leader = {
    app: { clock: { now: () => new Date() } },
    calls: new Map([[callName(call), live]]),
    dispatch: (_live: LiveCall, event: CallEvent) => void events.push(event),
  } as unknown as Leader;
  limitDuration(leader, live);
  limitDuration(leader, live);
  mock.timers.tick(10 * 60_000 - 1);
  assert.deepEqual(events, []);
  mock.timers.tick(1);
  assert.deepEqual(events, [{ type: "hangup", reason: "too_long", at: new Date() }]);
  mock.timers.reset();
});
