import assert from "node:assert/strict";
import { test } from "node:test";
import { manualTimers } from "../../lib/timers.ts";
import { openScriptedMedia } from "../../../test/support/scripted-media.ts";
import type { AiAgentEvent } from "./driver.ts";
import { openConversation } from "./open-conversation.ts";

test("a conversation fails when its transcript grows too large, by long or by short texts", () => {
  for (const text of ["x".repeat(10_000), "x"]) {
    const time = manualTimers();
    const events: AiAgentEvent[] = [];
    const conversation = openConversation({
      plan: { silence_seconds: 10, max_seconds: 600 },
      media: openScriptedMedia(time),
      timers: time.timers,
      onEvent: (event) => events.push(event),
      quietSince: () => null,
      hungUp: () => false,
      stopped: () => {},
    });
    for (let i = 0; i < 20_000; i++) conversation.said("agent", text);
    assert.deepEqual(events.pop(), { type: "over", reason: "failed" });
    const lengths = events.map((event) => (event.type === "said" ? event.text.length : 0));
    assert.ok(lengths.length <= 10_000);
    assert.ok(lengths.reduce((sum, length) => sum + length, 0) <= 500_000);
  }
});
