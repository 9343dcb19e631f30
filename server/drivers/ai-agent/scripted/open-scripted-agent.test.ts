import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { manualTimers } from "../../../../test/support/manual-timers.ts";
import { openScriptedMedia } from "../../../../test/support/scripted-media.ts";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { loudnessOf, silence, tone } from "../../../../test/support/tones.ts";
import type { AgentEvent, AgentPlan, AgentRule } from "../driver.ts";
import { openScriptedAgent } from "./open-scripted-agent.ts";

function rule(keys: string, keyword: string, more: Partial<AgentRule> = {}): AgentRule {
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
  return { keys, keywords: [keyword], say: `about ${keyword}`, then: "go_on", ...more };
}

const plan: AgentPlan = {
  driver: "scripted",
  language: "en",
  greeting: "hello",
  instructions: "",
  model: null,
  voice: null,
  rules: [
    rule("1", "prices"),
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
    rule("9", "stop", { then: "opt_out" }),
    rule("2", "pune", { set: { field: "city", value: "Pune" } }),
  ],
  fallback: "pardon",
  closing: "",
  fields: [
    { key: "city", question: "which city" },
    { key: "pin", question: "which pin" },
  ],
  may_transfer: false,
  silence_seconds: 10,
  max_seconds: 600,
};

/** A conversation, told as lines: `agent: …`, `caller: …`, `city = …`, and the names of ends. */
function converse(change: Partial<AgentPlan> = {}, { isDeaf = false } = {}) {
  const time = manualTimers();
  const media = openScriptedMedia(time);
  const speech = openScriptedSpeech();
  const heard: string[] = [];
  const driver = openScriptedAgent({
    speech: isDeaf ? { ...speech, recognize: null } : speech,
    timers: time.timers,
  });
  const session = driver.open({ ...plan, ...change }, media, (event) => heard.push(tell(event)));
  return {
    media,
    speech,
    session,
    heard: () => heard.splice(0),
    /** Time goes by, and what was to be said meanwhile is said. */
    async pass(ms: number) {
      for (let left_ms = ms; left_ms > 0; left_ms -= 100) {
        await settled();
        time.advance(Math.min(left_ms, 100));
      }
      await settled();
    },
    async press(keys: string) {
      for (const key of keys) session.digit(key);
      await settled();
    },
    /** The caller says this. */
    async say(...words: string[]) {
      speech.understand(...words);
      for (const _ of words) media.speak(Buffer.concat([tone(500), silence(800)]));
      await settled();
    },
    elapsed_ms: time.timers.now,
  };
}

function tell(event: AgentEvent): string {
  if (event.type === "said") return `${event.who}: ${event.text}`;
  if (event.type === "over") return event.reason;
  const { tool } = event;
  return tool.name === "set_lead_field" ? `${tool.field} = ${tool.value}` : tool.name;
}

test("it asks its fields in order, and takes keys up to # or to a pause of three seconds", async () => {
  const { pass, press, heard } = converse();
  await pass(1_000);
  assert.deepEqual(heard(), ["agent: hello", "agent: which city"]);
  await press("41*#");
  assert.deepEqual(heard().slice(4), ["city = 41*", "agent: which pin"]);
  await press("41");
  await pass(2_900);
  await press("1");
  await pass(2_900);
  assert.deepEqual(heard(), ["caller: pressed 4", "caller: pressed 1", "caller: pressed 1"]);
  await pass(200);
  assert.deepEqual(heard(), ["pin = 411"]);
  await press("1");
  assert.deepEqual(heard(), ["caller: pressed 1", "agent: about prices"]);
});

test("once every field was asked it takes its leave, where it has words for it", async () => {
  const { pass, press, heard } = converse({ closing: "goodbye" });
  await pass(1_000);
  await press("1#");
  await pass(1_000);
  await press("#");
  await pass(1_000);
  const [farewell, end] = heard().slice(-2);
  assert.deepEqual([farewell, end], ["agent: goodbye", "end_call"]);
});

test("a field takes what is said; a lone # passes it over", async () => {
  const { pass, press, say, heard } = converse();
  await pass(1_000);
  heard();
  await say("In Mumbai, near the sea");
  assert.deepEqual(heard(), [
    "caller: In Mumbai, near the sea",
    "city = In Mumbai, near the sea",
    "agent: which pin",
  ]);
  await press("#");
  await pass(1_000);
  assert.deepEqual(heard(), ["caller: pressed #"]);
});

test("words that a rule answers to are the rule's, and then the question comes again", async () => {
  const { pass, say, heard } = converse();
  await pass(1_000);
  heard();
  await say("what are your prices");
  await pass(1_000);
  assert.deepEqual(heard(), [
    "caller: what are your prices",
    "agent: about prices",
    "agent: which city",
  ]);
  await say("Pune");
  await pass(1_000);
  assert.deepEqual(heard(), [
    "caller: Pune",
    "city = Pune",
    "agent: about pune",
    "agent: which pin",
  ]);
  await say("please stop calling me");
  await pass(1_000);
  assert.deepEqual(heard(), ["caller: please stop calling me", "agent: about stop", "opt_out"]);
});

test("what no rule fits is answered by the fallback", async () => {
  const { pass, press, say, heard } = converse({ fields: [] });
  await pass(1_000);
  await press("7");
  await pass(1_000);
  await say("bananas");
  await pass(1_000);
  assert.deepEqual(heard(), [
    "agent: hello",
    "caller: pressed 7",
    "agent: pardon",
    "caller: bananas",
    "agent: pardon",
  ]);
});

test("a noise that cut it off, or speech that nobody can understand, brings it back to its question", async () => {
  const { pass, say, heard, speech, media } = converse();
  await pass(400);
  assert.deepEqual(heard(), ["agent: hello", "agent: which city"]);
  await say("");
  await pass(1_000);
  assert.equal(media.cuts(), 1);
  assert.deepEqual(heard(), ["agent: pardon", "agent: which city"]);
  speech.breakDown(true);
  // It cannot speak either, but says nothing now: what is not understood is no word.
  await say("Pune");
  await pass(1_000);
  assert.deepEqual(heard(), []);
});

test("what it hands to be understood is what was said, with its beginning", async () => {
  const { pass, say, speech, media } = converse();
  await pass(2_000);
  media.speak(silence(300));
  await say("Pune");
  const [samples] = speech.understood();
  assert.ok(samples && loudnessOf(samples.subarray(0, 16 * 100)) < 10);
  const loud = samples.subarray(16 * 220, 16 * 720);
  assert.ok(loudnessOf(loud) > 5_000);
});

test("where nothing understands speech, keys alone are heard, and sound is no sign of life", async () => {
  const { pass, press, say, heard, media, elapsed_ms } = converse({}, { isDeaf: true });
  await pass(300);
  await say("Pune");
  assert.equal(media.cuts(), 0);
  await press("2#");
  assert.deepEqual(heard(), [
    "agent: hello",
    "agent: which city",
    "caller: pressed 2",
    "caller: pressed #",
    "city = 2",
    "agent: which pin",
  ]);
  const asked_ms = elapsed_ms();
  for (let round = 0; round < 9; round++) await say("Pune");
  assert.deepEqual(heard(), ["silence"]);
  assert.ok(elapsed_ms() >= asked_ms + 10_000);
});

test("a key before the end of its last words brings the end at once", async () => {
  const { pass, press, heard, media } = converse();
  await pass(100);
  await press("9");
  assert.ok(media.queued_ms() > 0);
  await press("1");
  assert.equal(media.queued_ms(), 0);
  assert.deepEqual(heard(), [
    "agent: hello",
    "caller: pressed 9",
    "agent: about stop",
    "caller: pressed 1",
    "opt_out",
  ]);
});

test("a plan without words listens in silence", async () => {
  const { pass, heard } = converse({ greeting: " ", fields: [] });
  await pass(9_900);
  assert.deepEqual(heard(), []);
  await pass(200);
  assert.deepEqual(heard(), ["silence"]);
});
