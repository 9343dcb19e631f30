// What every agent must do, whoever stands behind it. Time is the test's; nothing depends on how fast it runs.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, suite, test } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import fc from "fast-check";
import type {
  AgentDriver,
  AgentEvent,
  AgentPlan,
  AgentRule,
  AgentSession,
} from "../../server/drivers/ai-agent/driver.ts";
import type { Timers } from "../../server/lib/timers.ts";
import { eventually } from "./eventually.ts";
import { manualTimers, type ManualTimers } from "./manual-timers.ts";
import { openScriptedMedia, type ScriptedMedia } from "./scripted-media.ts";
import { loudnessOf, silence, tone } from "./tones.ts";

/** Follows the rules of `contract_plan` on the keys, and goes for a person when one is asked for. */
export type AgentDriverUnderTest = {
  readonly open: (timers: Timers) => AgentDriver;
  /** What the next speech is understood as. */
  readonly understand: (text: string) => void;
  /** From now on nothing can be said any more; or again. Conversations that go on may notice when they next speak. */
  readonly breakDown: (isBroken: boolean) => void;
  /** After each test: what was seen of the far end that is not as it should be. */
  readonly faults: () => readonly string[];
  readonly close: () => Promise<void>;
};

const rule = (keys: string, say: string, then: AgentRule["then"]): AgentRule => ({
  keys,
  keywords: keys === "0" ? ["a person"] : [],
  say,
  set: keys === "3" ? { field: "city", value: "Pune" } : null,
  // oxlint-disable-next-line unicorn/no-thenable -- a word of the plan, no function
  then,
});

const contract_plan: Omit<AgentPlan, "driver"> = {
  language: "en",
  greeting: "Good morning from the contract suite",
  instructions: "You are the contract suite.",
  model: null,
  voice: null,
  rules: [
    rule("0", "One moment please", "transfer"),
    rule("9", "Nobody will call you again", "opt_out"),
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
  readonly events: readonly AgentEvent[];
  readonly session: AgentSession;
  /** Since it was opened. */
  readonly elapsed_ms: () => number;
};

/** Registers the suite. */
export function agentDriverContract(
  name: AgentPlan["driver"],
  open: () => Promise<AgentDriverUnderTest>,
): void {
  suite(`the contract of agent drivers: ${name}`, () => {
    let under: AgentDriverUnderTest;
    let opened: Conversation[] = [];

    const converse = (change: Partial<AgentPlan> = {}): Conversation => {
      const time = manualTimers();
      const media = openScriptedMedia(time);
      const events: AgentEvent[] = [];
      const plan = { ...contract_plan, driver: name, ...change };
      const session = under.open(time.timers).open(plan, media, (event) => void events.push(event));
      assert.deepEqual(events, [], "nothing is told before open returned");
      const conversation = { time, media, events, session, elapsed_ms: time.timers.now };
      opened.push(conversation);
      return conversation;
    };
    const greeted = async (change: Partial<AgentPlan> = {}): Promise<Conversation> => {
      const conversation = converse(change);
      await until(() => saidBy(conversation, "agent").length > 0);
      await until(() => conversation.media.queued_ms() > 0);
      return conversation;
    };
    /** The same, with its one question out of the way, and still talking. */
    const answered = async (change: Partial<AgentPlan> = {}): Promise<Conversation> => {
      const conversation = await greeted(change);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").includes("Noted"));
      await until(() => conversation.media.queued_ms() > 0);
      return conversation;
    };
    /** Time goes by until it comes true. */
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
    beforeEach(() => under.breakDown(false));
    afterEach(async () => {
      await Promise.all(opened.map(({ session }) => session.close()));
      for (const { time } of opened) assert.equal(time.waiting(), 0, "no timer is left");
      opened = [];
      assert.deepEqual(under.faults(), []);
    });

    test("it greets the caller aloud, and tells what it said", async () => {
      const conversation = await greeted();
      assert.deepEqual(saidBy(conversation, "agent"), [contract_plan.greeting]);
      conversation.time.advance(1_000);
      assert.ok(loudnessOf(conversation.media.heard()) > 1_000);
    });

    test("a key silences it at once, is told, and is followed", async () => {
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
      // It goes on talking.
      await until(() => conversation.media.queued_ms() > 0);
    });

    test("what is no key of a telephone is not taken for one", async () => {
      const conversation = await greeted();
      for (const digit of ["", "x", "12", "\0", "A"]) conversation.session.digit(digit);
      assert.equal(conversation.media.cuts(), 0);
      assert.deepEqual(saidBy(conversation, "caller"), []);
    });

    test("one who speaks is not talked over, and gets what was asked for", async () => {
      const conversation = await greeted();
      under.understand("Can I talk to a person, please?");
      conversation.media.speak(tone(400));
      await until(() => conversation.media.cuts() === 1);
      conversation.media.speak(silence(1_500));
      await passUntil(conversation, 100, () => toolsOf(conversation).length > 0);
      assert.deepEqual(saidBy(conversation, "caller"), ["Can I talk to a person, please?"]);
      assert.deepEqual(toolsOf(conversation), [{ name: "transfer_to_agent" }]);
      assert.equal(conversation.events.at(-1)?.type, "tool");
    });

    for (const [key, tool, words] of [
      ["0", "transfer_to_agent", "One moment please"],
      ["9", "opt_out", "Nobody will call you again"],
      ["5", "end_call", "Goodbye"],
    ] as const) {
      test(`${tool} is told once the words before it were played, and is the last that is told`, async () => {
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
        const told = conversation.events.length;
        conversation.session.digit("3");
        conversation.media.speak(tone(400));
        conversation.time.advance(300_000_000);
        assert.equal(conversation.events.length, told);
      });
    }

    test("it transfers nobody where nobody can be transferred to", async () => {
      const conversation = await greeted({ may_transfer: false });
      conversation.session.digit("0");
      await until(() => saidBy(conversation, "agent").length > 1);
      await passUntil(conversation, 100, () => saidBy(conversation, "agent").length > 2);
      assert.deepEqual(toolsOf(conversation), []);
    });

    test("when nobody says or presses anything for so long after its words, it is over", async () => {
      const conversation = await answered({ silence_seconds: 10 });
      // Far into its words and the silence after them, a key begins the count anew.
      const words_ms = conversation.media.queued_ms();
      conversation.time.advance(words_ms + 9_000);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").length > 2);
      await passUntil(conversation, 500, () => isOver(conversation));
      assert.deepEqual(conversation.events.at(-1), { type: "over", reason: "silence" });
      assert.ok(conversation.elapsed_ms() >= words_ms + 9_000 + 10_000);
    });

    test("it is over after its longest time, whatever goes on, and silent at once", async () => {
      const conversation = await answered({ max_seconds: 30 });
      conversation.time.advance(29_900);
      conversation.session.digit("3");
      await until(() => saidBy(conversation, "agent").length > 2);
      await until(() => conversation.media.queued_ms() > 0);
      assert.ok(!isOver(conversation));
      conversation.time.advance(100);
      assert.deepEqual(conversation.events.at(-1), { type: "over", reason: "too_long" });
      assert.equal(conversation.media.queued_ms(), 0);
      const told = conversation.events.length;
      conversation.session.digit("3");
      conversation.time.advance(300_000_000);
      assert.equal(conversation.events.length, told);
    });

    test("one that cannot speak is over as failed, from the beginning or later", async () => {
      const later = await greeted();
      under.breakDown(true);
      const never = converse();
      await until(() => isOver(never));
      assert.deepEqual(never.events, [{ type: "over", reason: "failed" }]);
      later.session.digit("3");
      await until(() => isOver(later));
      assert.deepEqual(later.events.at(-1), { type: "over", reason: "failed" });
    });

    test("after a close it is silent at once and tells nothing; the media stays", async () => {
      const early = converse();
      const closing = early.session.close();
      const conversation = await greeted();
      await conversation.session.close();
      assert.equal(conversation.media.queued_ms(), 0);
      assert.ok(!conversation.media.isClosed());
      const told = conversation.events.length;
      conversation.session.digit("3");
      conversation.media.speak(tone(400));
      conversation.time.advance(300_000_000);
      await conversation.session.close();
      await closing;
      assert.equal(conversation.events.length, told);
      assert.deepEqual(early.events, []);
    });

    test("it ends without a word when the caller is gone", async () => {
      const conversation = await greeted();
      const told = conversation.events.length;
      conversation.media.end();
      await until(() => conversation.time.waiting() === 0);
      conversation.session.digit("3");
      assert.equal(conversation.events.length, told);
    });

    test("whatever callers do, an end is told once and nothing after it", async () => {
      const anAct = fc.oneof(
        fc.record({ kind: fc.constant("key" as const), of: fc.constantFrom(...keys) }),
        fc.record({ kind: fc.constant("tone" as const), of: fc.integer({ min: 1, max: 900 }) }),
        fc.record({ kind: fc.constant("noise" as const), of: fc.uint8Array({ maxLength: 2_000 }) }),
        fc.record({ kind: fc.constant("time" as const), of: fc.integer({ min: 1, max: 60_000 }) }),
        fc.record({ kind: fc.constant("wait" as const), of: fc.constant(0) }),
      );
      const property = fc.asyncProperty(fc.array(anAct, { maxLength: 25 }), async (acts) => {
        const conversation = converse({ silence_seconds: 20, max_seconds: 120 });
        const { session, media, time, events } = conversation;
        for (const act of acts) {
          if (act.kind === "key") session.digit(act.of);
          else if (act.kind === "tone") media.speak(tone(act.of));
          else if (act.kind === "noise") media.speak(Buffer.from(act.of));
          else if (act.kind === "time") time.advance(act.of);
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

function isLast(event: AgentEvent): boolean {
  if (event.type === "tool")
    return ["end_call", "transfer_to_agent", "opt_out"].includes(event.tool.name);
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
