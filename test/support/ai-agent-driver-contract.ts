// The contract suite of AI agent drivers. The test advances the clock; no test depends on real time.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, suite, test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import fc from "fast-check";
import type {
  AiAgentDriver,
  AiAgentEvent,
  AiAgentPlan,
  AiAgentRule,
  AiAgentSession,
  CallbackTerms,
} from "../../server/drivers/ai-agent/driver.ts";
import type { Synthesizer } from "../../server/drivers/speech/driver.ts";
import { manualTimers, type ManualTimers, type Timers } from "../../server/lib/timers.ts";
import { eventually } from "./eventually.ts";
import { openScriptedMedia, type ScriptedMedia } from "./scripted-media.ts";
import { loudnessOf, silence, tone } from "./tones.ts";

/** A driver that follows the rules of `contract_plan` for keys, and transfers when a person is requested. */
export type AiAgentDriverUnderTest = {
  readonly open: (timers: Timers) => AiAgentDriver;
  readonly synthesize: Synthesizer["synthesize"];
  /** Sets the transcript of the next speech. */
  readonly scriptTranscript: (text: string) => void;
  /** Makes speech fail, or work again; an open conversation may notice at its next text. */
  readonly setBroken: (isBroken: boolean) => void;
  /** The protocol violations that the far end saw; checked after each test. */
  readonly violations: () => readonly string[];
  readonly close: () => Promise<void>;
};

const rule = (keys: string, say: string, then: AiAgentRule["then"]): AiAgentRule => ({
  keys,
  keywords: keys === "0" ? ["a person"] : [],
  say,
  set: keys === "3" ? { field: "city", value: "Pune" } : null,
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the plan, not a function
  then,
});

const contract_plan: Omit<AiAgentPlan, "driver"> = {
  language: "en",
  greeting: "Good morning from the contract suite",
  instructions: "You are the contract suite.",
  model: null,
  voice: null,
  rules: [
    rule("0", "One moment please", "transfer"),
    rule("9", "You will not be called again", "opt_out"),
    rule("5", "Goodbye", "end"),
    rule("3", "Noted", "go_on"),
  ],
  fallback: "Please say it again",
  closing: "",
  fields: [{ key: "city", question: "Where do you live" }],
  may_transfer: true,
  silence_seconds: 100_000,
  max_seconds: 200_000,
};

const keys = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#", "x"];
const patience_s = 120;

type Conversation = {
  readonly time: ManualTimers;
  readonly media: ScriptedMedia;
  readonly events: readonly AiAgentEvent[];
  readonly session: AiAgentSession;
  /** The time since it was opened. */
  readonly elapsed_ms: () => number;
};

const no_callbacks: CallbackTerms = { briefing: "", refuse: () => null };

/** Registers the suite. */
export function aiAgentDriverContract(
  name: AiAgentPlan["driver"],
  open: () => Promise<AiAgentDriverUnderTest>,
): void {
  suite(`the contract of AI agent drivers: ${name}`, () => {
    let under: AiAgentDriverUnderTest;
    let opened: Conversation[] = [];

    const synthesizer = () => ({ owner: "contract", synthesize: under.synthesize });
    const converse = (change: Partial<AiAgentPlan> = {}): Conversation => {
      const time = manualTimers();
      const media = openScriptedMedia(time);
      const events: AiAgentEvent[] = [];
      const plan = { ...contract_plan, driver: name, ...change };
      const prepared = under.open(time.timers).prepare(plan, no_callbacks, synthesizer());
      const session = prepared.start(media, (event) => void events.push(event));
      assert.deepEqual(events, [], "no event is emitted before start returns");
      const conversation = { time, media, events, session, elapsed_ms: time.timers.now };
      opened.push(conversation);
      return conversation;
    };
    const greeted = async (change: Partial<AiAgentPlan> = {}): Promise<Conversation> => {
      const conversation = converse(change);
      await until(() => saidBy(conversation, "agent").length > 0);
      await until(() => conversation.media.queued_ms() > 0);
      return conversation;
    };
    /** A greeted conversation whose field is answered and whose AI agent is still talking. */
    const answered = async (change: Partial<AiAgentPlan> = {}): Promise<Conversation> => {
      const conversation = await greeted(change);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").includes("Noted"));
      await until(() => conversation.media.queued_ms() > 0);
      return conversation;
    };
    /** Advances the clock until the condition holds. */
    const passUntil = ({ time }: Conversation, step_ms: number, holds: () => boolean) =>
      until(() => {
        if (holds()) return true;
        time.advance(step_ms);
        return holds();
      });

    before(async () => {
      under = await open();
    });
    after(() => under.close());
    beforeEach(() => under.setBroken(false));
    afterEach(async () => {
      await Promise.all(opened.map(({ session }) => session.close()));
      for (const { time } of opened) assert.equal(time.waiting(), 0, "no timer is left");
      opened = [];
      assert.deepEqual(under.violations(), []);
    });

    test("plays a greeting and reports its text", async () => {
      const conversation = await greeted();
      assert.deepEqual(saidBy(conversation, "agent"), [contract_plan.greeting]);
      conversation.time.advance(1_000);
      assert.ok(loudnessOf(conversation.media.played()) > 1_000);
    });

    test("a key stops playback at once, is reported and matches its rule", async () => {
      const conversation = await greeted();
      conversation.time.advance(100);
      conversation.session.digit("3");
      assert.equal(conversation.media.queued_ms(), 0);
      assert.equal(conversation.media.cuts(), 1);
      assert.deepEqual(saidBy(conversation, "caller"), ["pressed 3"]);
      await until(() => toolsOf(conversation).length > 0);
      assert.deepEqual(toolsOf(conversation), [
        { name: "set_lead_field", field: "city", value: "Pune" },
      ]);
      // It continues to talk.
      await until(() => conversation.media.queued_ms() > 0);
    });

    test("ignores digits that are not keys of a telephone", async () => {
      const conversation = await greeted();
      for (const digit of ["", "x", "12", "\0", "A"]) conversation.session.digit(digit);
      assert.equal(conversation.media.cuts(), 0);
      assert.deepEqual(saidBy(conversation, "caller"), []);
    });

    test("stops playback when the caller speaks and does what was requested", async () => {
      const conversation = await greeted();
      under.scriptTranscript("Can I talk to a person, please?");
      conversation.media.sendAudio(tone(400));
      await until(() => conversation.media.cuts() === 1);
      conversation.media.sendAudio(silence(1_500));
      await passUntil(conversation, 100, () => toolsOf(conversation).length > 0);
      assert.deepEqual(saidBy(conversation, "caller"), ["Can I talk to a person, please?"]);
      assert.deepEqual(toolsOf(conversation), [{ name: "transfer_to_agent" }]);
      assert.equal(conversation.events.at(-1)?.type, "tool");
    });

    test("a caller who types is answered as one who speaks", async () => {
      const conversation = await greeted();
      conversation.session.utterance("  ");
      conversation.session.utterance(" Can I talk to a person, please? ");
      assert.equal(conversation.media.queued_ms(), 0);
      await until(() => saidBy(conversation, "agent").includes("One moment please"));
      await passUntil(conversation, 100, () => toolsOf(conversation).length > 0);
      assert.deepEqual(saidBy(conversation, "caller"), ["Can I talk to a person, please?"]);
      assert.deepEqual(toolsOf(conversation), [{ name: "transfer_to_agent" }]);
      conversation.session.utterance("Hello?");
      assert.equal(conversation.events.at(-1)?.type, "tool");
    });

    test("an opt-out is emitted before its confirmation is played, and stands when the caller hangs up", async () => {
      const conversation = await greeted();
      conversation.session.digit("9");
      await until(() => toolsOf(conversation).length > 0);
      await until(() => conversation.media.queued_ms() > 0);
      assert.deepEqual(toolsOf(conversation), [{ name: "opt_out" }]);
      conversation.media.end();
      await until(() => conversation.time.waiting() === 0);
      assert.deepEqual(toolsOf(conversation), [{ name: "opt_out" }]);
    });

    test("ends the call of a caller who opted out once the confirmation is played", async () => {
      const conversation = await greeted();
      conversation.session.digit("9");
      await until(() => saidBy(conversation, "agent").includes("You will not be called again"));
      await until(() => conversation.media.queued_ms() > 0);
      conversation.time.advance(conversation.media.queued_ms() - 20);
      assert.deepEqual(toolsOf(conversation), [{ name: "opt_out" }]);
      await passUntil(conversation, 20, () => toolsOf(conversation).length > 1);
      assert.deepEqual(toolsOf(conversation), [{ name: "opt_out" }, { name: "end_call" }]);
      assert.equal(conversation.media.queued_ms(), 0);
    });

    test("is ready before the call, and reports its first audio", async () => {
      const plan = { ...contract_plan, driver: name };
      const prepared = under.open(manualTimers().timers).prepare(plan, no_callbacks, synthesizer());
      assert.equal(await prepared.ready(), null);
      await prepared.close();
      const conversation = await greeted();
      const types = conversation.events.map(({ type }) => type);
      assert.equal(types.filter((type) => type === "audible").length, 1);
    });

    test("reports before the call why it cannot talk", async () => {
      under.setBroken(true);
      const plan = { ...contract_plan, driver: name };
      const prepared = under.open(manualTimers().timers).prepare(plan, no_callbacks, synthesizer());
      assert.notEqual((await prepared.ready())!.reason, "");
      await prepared.close();
    });

    for (const [key, tool, words] of [
      ["0", "transfer_to_agent", "One moment please"],
      ["5", "end_call", "Goodbye"],
    ] as const) {
      test(`${tool} is emitted once the audio before it is played, and is the last event`, async () => {
        const conversation = await greeted();
        conversation.session.digit(key);
        await until(() => saidBy(conversation, "agent").includes(words));
        await until(() => conversation.media.queued_ms() > 0);
        assert.deepEqual(toolsOf(conversation), []);
        conversation.time.advance(conversation.media.queued_ms() - 20);
        assert.deepEqual(toolsOf(conversation), []);
        await passUntil(conversation, 20, () => toolsOf(conversation).length > 0);
        assert.equal(conversation.media.queued_ms(), 0);
        assert.deepEqual(conversation.events.at(-1), { type: "tool", tool: { name: tool } });
        const emitted = conversation.events.length;
        conversation.session.digit("3");
        conversation.media.sendAudio(tone(400));
        conversation.time.advance(300_000_000);
        assert.equal(conversation.events.length, emitted);
      });
    }

    test("never transfers a call that cannot be transferred", async () => {
      const conversation = await greeted({ may_transfer: false });
      conversation.session.digit("0");
      await until(() => saidBy(conversation, "agent").length > 1);
      await passUntil(conversation, 100, () => saidBy(conversation, "agent").length > 2);
      assert.deepEqual(toolsOf(conversation), []);
    });

    test("ends after the configured silence, counted from the end of its audio", async () => {
      const conversation = await answered({ silence_seconds: 10 });
      // A key, late in the silence, restarts the count.
      const audio_ms = conversation.media.queued_ms();
      conversation.time.advance(audio_ms + 9_000);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").length > 2);
      await passUntil(conversation, 500, () => isOver(conversation));
      assert.deepEqual(conversation.events.at(-1), { type: "over", reason: "silence" });
      assert.ok(conversation.elapsed_ms() >= audio_ms + 9_000 + 10_000);
    });

    test("ends at its longest duration, whatever happens, and stops playback at once", async () => {
      const conversation = await answered({ max_seconds: 30 });
      conversation.time.advance(29_900);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").length > 2);
      await until(() => conversation.media.queued_ms() > 0);
      assert.ok(!isOver(conversation));
      conversation.time.advance(100);
      assert.deepEqual(conversation.events.at(-1), { type: "over", reason: "too_long" });
      assert.equal(conversation.media.queued_ms(), 0);
      const emitted = conversation.events.length;
      conversation.session.digit("3");
      conversation.time.advance(300_000_000);
      assert.equal(conversation.events.length, emitted);
    });

    test("ends as failed when speech fails, at the beginning or later", async () => {
      const later = await greeted();
      under.setBroken(true);
      const never = converse();
      await until(() => isOver(never));
      assert.deepEqual(never.events, [{ type: "over", reason: "failed" }]);
      later.session.digit("3");
      await until(() => isOver(later));
      assert.deepEqual(later.events.at(-1), { type: "over", reason: "failed" });
    });

    test("stops playback at once and emits nothing after close, while the media stays open", async () => {
      const early = converse();
      const closing = early.session.close();
      const conversation = await greeted();
      await conversation.session.close();
      assert.equal(conversation.media.queued_ms(), 0);
      assert.ok(!conversation.media.isClosed());
      const emitted = conversation.events.length;
      conversation.session.digit("3");
      conversation.media.sendAudio(tone(400));
      conversation.time.advance(300_000_000);
      await conversation.session.close();
      await closing;
      assert.equal(conversation.events.length, emitted);
      assert.deepEqual(early.events, []);
    });

    test("ends without an event when the caller hangs up", async () => {
      const conversation = await greeted();
      const emitted = conversation.events.length;
      conversation.media.end();
      await until(() => conversation.time.waiting() === 0);
      conversation.session.digit("3");
      assert.equal(conversation.events.length, emitted);
    });

    test("emits one end and nothing after it, whatever the caller does", async () => {
      const anInput = fc.oneof(
        fc.record({ kind: fc.constant("key" as const), of: fc.constantFrom(...keys) }),
        fc.record({ kind: fc.constant("tone" as const), of: fc.integer({ min: 1, max: 900 }) }),
        fc.record({ kind: fc.constant("noise" as const), of: fc.uint8Array({ maxLength: 2_000 }) }),
        fc.record({ kind: fc.constant("time" as const), of: fc.integer({ min: 1, max: 60_000 }) }),
        fc.record({ kind: fc.constant("wait" as const), of: fc.constant(0) }),
      );
      const property = fc.asyncProperty(fc.array(anInput, { maxLength: 25 }), async (inputs) => {
        const conversation = converse({ silence_seconds: 20, max_seconds: 120 });
        const { session, media, time, events } = conversation;
        for (const input of inputs) {
          if (input.kind === "key") session.digit(input.of);
          else if (input.kind === "tone") media.sendAudio(tone(input.of));
          else if (input.kind === "noise") media.sendAudio(Buffer.from(input.of));
          else if (input.kind === "time") time.advance(input.of);
          else await settled();
        }
        await session.close();
        const last = events.findIndex(isLast);
        assert.ok(last === -1 || last === events.length - 1);
        assert.equal(time.waiting(), 0);
      });
      await fc.assert(property, { numRuns: 30 });
    });
  });
}

function isLast(event: AiAgentEvent): boolean {
  if (event.type === "tool") return ["end_call", "transfer_to_agent"].includes(event.tool.name);
  return event.type === "over";
}

function saidBy({ events }: Pick<Conversation, "events">, who: "agent" | "caller"): string[] {
  return events.flatMap((event) => (event.type === "said" && event.who === who ? event.text : []));
}

function toolsOf({ events }: Pick<Conversation, "events">) {
  return events.flatMap((event) => (event.type === "tool" ? event.tool : []));
}

function isOver({ events }: Pick<Conversation, "events">): boolean {
  return events.some(({ type }) => type === "over");
}

function until(holds: () => boolean): Promise<void> {
  return eventually(holds, patience_s);
}
