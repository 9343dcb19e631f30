import assert from "node:assert/strict";
import { test } from "node:test";
import { manualTimers } from "../../../test/support/manual-timers.ts";
import { openScriptedMedia } from "../../../test/support/scripted-media.ts";
import type { AgentEvent } from "./driver.ts";
import { openConversation } from "./open-conversation.ts";

test("words without end are the end of a conversation, be they long or short", () => {
  for (const text of ["x".repeat(10_000), "x"]) {
    const time = manualTimers();
    const events: AgentEvent[] = [];
    const conversation = openConversation({
      plan: { silence_seconds: 10, max_seconds: 600 },
      media: openScriptedMedia(time),
      timers: time.timers,
      hear: (event) => events.push(event),
      quietSince: () => null,
      stopped: () => {},
    });
    for (let i = 0; i < 20_000; i++) conversation.said("agent", text);
    assert.deepEqual(events.pop(), { type: "over", reason: "failed" });
    const told = events.map((event) => (event.type === "said" ? event.text.length : 0));
    assert.ok(told.length <= 10_000);
    assert.ok(told.reduce((sum, length) => sum + length, 0) <= 500_000);
  }
});
