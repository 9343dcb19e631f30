import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { manualTimers } from "../../../lib/timers.ts";
import { openScriptedMedia } from "../../../../test/support/scripted-media.ts";
import { openScriptedSpeech } from "../../../../test/support/scripted-speech.ts";
import { loudnessOf, silence, tone } from "../../../../test/support/tones.ts";
import type { AiAgentEvent, AiAgentPlan, AiAgentRule, CallbackTerms } from "../driver.ts";
import type { SpeechDriver, Utterance } from "../../speech/driver.ts";
import { openScriptedDriver } from "./open-scripted-driver.ts";

function rule(keys: string, keyword: string, more: Partial<AiAgentRule> = {}): AiAgentRule {
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
  return { keys, keywords: [keyword], say: `about ${keyword}`, then: "go_on", ...more };
}

const plan: AiAgentPlan = {
  driver: "scripted",
  language: "en",
  greeting: "hello",
  instructions: "",
  model: null,
  voice: null,
  rules: [
    rule("1", "prices"),
    // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
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

const no_callbacks: CallbackTerms = { briefing: "", refuse: () => null };

/** A conversation whose events are lines: `agent: …`, `caller: …`, `city = …` and the names of ends. */
function converse(
  change: Partial<AiAgentPlan> = {},
  other: Partial<Pick<SpeechDriver, "recognize">> = {},
) {
  const time = manualTimers();
  const media = openScriptedMedia(time);
  const speech = openScriptedSpeech();
  const lines: string[] = [];
  const driver = openScriptedDriver({
    speech: { ...speech, ...other },
    timers: time.timers,
  });
  const by = { owner: "1", synthesize: speech.synthesize };
  const prepared = driver.prepare({ ...plan, ...change }, no_callbacks, by);
  const session = prepared.start(media, (event) => {
    if (event.type !== "audible") lines.push(describe(event));
  });
  return {
    media,
    speech,
    session,
    lines: () => lines.splice(0),
    /** Advances the clock in steps, so that texts play meanwhile. */
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
    /** Lets the caller say these texts. */
    async say(...words: string[]) {
      speech.scriptTranscript(...words);
      for (const _ of words) media.sendAudio(Buffer.concat([tone(500), silence(800)]));
      await settled();
    },
    elapsed_ms: time.timers.now,
  };
}

function describe(event: Exclude<AiAgentEvent, { type: "audible" }>): string {
  if (event.type === "said") return `${event.who}: ${event.text}`;
  if (event.type === "over") return event.reason;
  const { tool } = event;
  return tool.name === "set_lead_field" ? `${tool.field} = ${tool.value}` : tool.name;
}

test("asks its fields in order and accepts keys until # or a pause of three seconds", async () => {
  const { pass, press, lines } = converse();
  await pass(1_000);
  assert.deepEqual(lines(), ["agent: hello", "agent: which city"]);
  await press("41*#");
  assert.deepEqual(lines().slice(4), ["city = 41*", "agent: which pin"]);
  await press("41");
  await pass(2_900);
  await press("1");
  await pass(2_900);
  assert.deepEqual(lines(), ["caller: pressed 4", "caller: pressed 1", "caller: pressed 1"]);
  await pass(200);
  assert.deepEqual(lines(), ["pin = 411"]);
  await press("1");
  assert.deepEqual(lines(), ["caller: pressed 1", "agent: about prices"]);
});

test("the key of an opt-out, alone, opts the caller out while a field is asked, too", async () => {
  const { pass, press, lines } = converse();
  await pass(1_000);
  await press("29#");
  await pass(1_000);
  assert.equal(lines().at(-2), "city = 29");
  await press("9");
  await pass(3_000);
  assert.deepEqual(lines().slice(0, 3), ["caller: pressed 9", "opt_out", "agent: about stop"]);
});

test("the key of an opt-out counts although the caller speaks or hangs up before another key could follow", async () => {
  for (const then of ["speaks", "hangs up"]) {
    const { pass, press, say, lines, media } = converse();
    await pass(1_000);
    await press("9");
    if (then === "speaks") await say("what are your prices");
    else media.end();
    await pass(100);
    assert.ok(lines().includes("opt_out"), then);
  }
});

test("says its closing text and ends the call once every field is asked", async () => {
  const { pass, press, lines } = converse({ closing: "goodbye" });
  await pass(1_000);
  await press("1#");
  await pass(1_000);
  await press("#");
  await pass(1_000);
  const [closing, end] = lines().slice(-2);
  assert.deepEqual([closing, end], ["agent: goodbye", "end_call"]);
});

test("speech answers a field, and # alone skips it", async () => {
  const { pass, press, say, lines } = converse();
  await pass(1_000);
  lines();
  await say("In Mumbai, near the sea");
  assert.deepEqual(lines(), [
    "caller: In Mumbai, near the sea",
    "city = In Mumbai, near the sea",
    "agent: which pin",
  ]);
  await press("#");
  await pass(1_000);
  assert.deepEqual(lines(), ["caller: pressed #"]);
});

test("an answer that is too long or has a NUL remains text that can be stored", async () => {
  const { pass, say, lines } = converse();
  await pass(1_000);
  const long = "a".repeat(499);
  await say(`${long}🎵`);
  await pass(1_000);
  await say("4110\u00001");
  const answers = lines().filter((line) => line.includes(" = "));
  assert.deepEqual(answers, [`city = ${long}\uFFFD`, "pin = 41101"]);
});

test("matches speech with a rule first, then repeats the question", async () => {
  const { pass, say, lines } = converse();
  await pass(1_000);
  lines();
  await say("what are your prices");
  await pass(1_000);
  assert.deepEqual(lines(), [
    "caller: what are your prices",
    "agent: about prices",
    "agent: which city",
  ]);
  await say("Pune");
  await pass(1_000);
  assert.deepEqual(lines(), [
    "caller: Pune",
    "city = Pune",
    "agent: about pune",
    "agent: which pin",
  ]);
  await say("please stop calling me");
  await pass(1_000);
  assert.deepEqual(lines(), [
    "caller: please stop calling me",
    "opt_out",
    "agent: about stop",
    "end_call",
  ]);
});

test("says the fallback when no rule matches", async () => {
  const { pass, press, say, lines } = converse({ fields: [] });
  await pass(1_000);
  await press("7");
  await pass(1_000);
  await say("bananas");
  await pass(1_000);
  assert.deepEqual(lines(), [
    "agent: hello",
    "caller: pressed 7",
    "agent: pardon",
    "caller: bananas",
    "agent: pardon",
  ]);
});

test("repeats its question after an interrupting noise and ignores speech that cannot be recognized", async () => {
  const { pass, say, lines, speech, media } = converse();
  await pass(400);
  assert.deepEqual(lines(), ["agent: hello", "agent: which city"]);
  await say("");
  await pass(1_000);
  assert.equal(media.cuts(), 1);
  assert.deepEqual(lines(), ["agent: pardon", "agent: which city"]);
  speech.setBroken(true);
  // Synthesis fails too, but no text is due: speech that is not recognized is ignored.
  await say("Pune");
  await pass(1_000);
  assert.deepEqual(lines(), []);
});

test("goes on after a noise that interrupts a text although another follows before the first is recognized", async () => {
  const { pass, say, lines } = converse();
  await pass(100);
  assert.deepEqual(lines(), ["agent: hello"]);
  await say("", "");
  await pass(1_000);
  assert.deepEqual(lines(), ["agent: pardon", "agent: which city"]);
});

test("does not speak over a caller who begins to speak after a noise", async () => {
  const { pass, lines, media } = converse();
  await pass(100);
  lines();
  media.sendAudio(Buffer.concat([tone(500), silence(800), tone(300)]));
  await pass(100);
  assert.deepEqual(lines(), []);
  media.sendAudio(silence(800));
  await pass(1_000);
  assert.deepEqual(lines(), ["agent: pardon", "agent: which city"]);
});

test("does not repeat a question for a noise that interrupted the one before it", async () => {
  const noise = Promise.withResolvers<string>();
  const { pass, press, lines, media } = converse({}, { recognize: () => noise.promise });
  await pass(400);
  media.sendAudio(Buffer.concat([tone(500), silence(800)]));
  assert.equal(media.cuts(), 1);
  await press("1#");
  await pass(1_000);
  assert.equal(lines().at(-1), "agent: which pin");
  noise.resolve("");
  await pass(1_000);
  assert.deepEqual(lines(), []);
});

test("ignores a noise after the caller has answered the question that this answer interrupted", async () => {
  const { pass, say, lines } = converse({ fields: [{ key: "city", question: "which city" }] });
  await pass(400);
  lines();
  await say("Mumbai");
  await say("");
  await pass(1_000);
  assert.deepEqual(lines(), ["caller: Mumbai", "city = Mumbai"]);
});

test("passes the caller's speech, including its beginning, to speech recognition", async () => {
  const { pass, say, speech, media } = converse();
  await pass(2_000);
  media.sendAudio(silence(300));
  await say("Pune");
  const [samples] = speech.recognizedAudio();
  assert.ok(samples && loudnessOf(samples.subarray(0, 16 * 100)) < 10);
  const loud = samples.subarray(16 * 220, 16 * 720);
  assert.ok(loudnessOf(loud) > 5_000);
});

test("without speech recognition, accepts only keys and does not count sound as activity", async () => {
  const { pass, press, say, lines, media, elapsed_ms } = converse({}, { recognize: null });
  await pass(300);
  await say("Pune");
  assert.equal(media.cuts(), 0);
  await press("2#");
  assert.deepEqual(lines(), [
    "agent: hello",
    "agent: which city",
    "caller: pressed 2",
    "caller: pressed #",
    "city = 2",
    "agent: which pin",
  ]);
  const asked_ms = elapsed_ms();
  for (let repeat = 0; repeat < 9; repeat++) await say("Pune");
  assert.deepEqual(lines(), ["silence"]);
  assert.ok(elapsed_ms() >= asked_ms + 10_000);
});

test("a key during the final text ends the conversation at once", async () => {
  const { pass, press, lines, media } = converse();
  await pass(100);
  await press("9");
  assert.ok(media.queued_ms() > 0);
  await press("1");
  assert.equal(media.queued_ms(), 0);
  assert.deepEqual(lines(), [
    "agent: hello",
    "caller: pressed 9",
    "opt_out",
    "agent: about stop",
    "caller: pressed 1",
    "end_call",
  ]);
});

test("a caller who says during the goodbye not to be called again has opted out", async () => {
  const { pass, press, say, lines } = converse({ closing: "goodbye, and thank you for your time" });
  await pass(1_000);
  await press("1#");
  await pass(1_000);
  await press("#");
  await pass(100);
  lines();
  await say("stop");
  await pass(1_000);
  assert.deepEqual(lines(), ["caller: stop", "opt_out", "agent: about stop", "end_call"]);
});

test("understands a caller who asks for no more calls and hangs up while speaking", async () => {
  const { pass, lines, speech, media } = converse();
  await pass(2_000);
  lines();
  speech.scriptTranscript("stop calling me");
  media.sendAudio(tone(500));
  media.end();
  await pass(100);
  assert.deepEqual(lines(), ["opt_out"]);
});

test("is ready once all of its texts are synthesized, and reports why one cannot be", async () => {
  const speech = openScriptedSpeech();
  const { timers } = manualTimers();
  const driver = openScriptedDriver({ speech, timers });
  const by = { owner: "1", synthesize: speech.synthesize };
  const ready = (change: Partial<AiAgentPlan>) =>
    driver.prepare({ ...plan, ...change }, no_callbacks, by).ready();
  assert.equal(await ready({}), null);
  speech.setBroken(true);
  assert.equal(await ready({}), null, "the texts are kept");
  const failure = (await ready({ closing: "new" }))!;
  assert.match(failure.reason, /synthesizer is broken/);
  assert.deepEqual(failure.text, { text: "new", language: plan.language });
});

test("says the texts that it was set up with although others have displaced them and text-to-speech is lost", async () => {
  const speech = openScriptedSpeech();
  const time = manualTimers();
  const media = openScriptedMedia(time);
  const driver = openScriptedDriver({ speech, timers: time.timers });
  const by = {
    owner: "1",
    synthesize: async (utterance: Utterance) =>
      utterance.text === "displaces" ? Buffer.alloc(20_000_000) : speech.synthesize(utterance),
  };
  const prepare = (greeting: string) => driver.prepare({ ...plan, greeting }, no_callbacks, by);
  const prepared = prepare("hello Asha");
  assert.equal(await prepared.ready(), null);
  assert.equal(await prepare("displaces").ready(), null);
  speech.setBroken(true);
  const lines: string[] = [];
  prepared.start(media, (event) => {
    if (event.type !== "audible") lines.push(describe(event));
  });
  await settled();
  assert.deepEqual(lines, ["agent: hello Asha"]);
});

test("synthesizes the texts of each owner by its own text-to-speech", async () => {
  const driver = openScriptedDriver({ speech: openScriptedSpeech() });
  const asked: string[] = [];
  const ready = (owner: string) => {
    const synthesize = async ({ text }: Utterance) => {
      asked.push(`${owner}: ${text}`);
      return tone(100);
    };
    const texts = { rules: [], fields: [], fallback: "" };
    return driver.prepare({ ...plan, ...texts }, no_callbacks, { owner, synthesize }).ready();
  };
  for (const owner of ["1", "2", "1"]) assert.equal(await ready(owner), null);
  assert.deepEqual(asked, ["1: hello", "2: hello"]);
});

test("a plan without texts listens in silence", async () => {
  const { pass, lines } = converse({ greeting: " ", fields: [] });
  await pass(9_900);
  assert.deepEqual(lines(), []);
  await pass(200);
  assert.deepEqual(lines(), ["silence"]);
});
