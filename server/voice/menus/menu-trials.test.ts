// Trying a menu and calling with it take the same path: generated menus, each tried and called with the same keys.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAgentGroup } from "../../../test/support/telephony-factory.ts";
import { tone } from "../../../test/support/tone-speech.ts";
import { makeVoiceCampaign, makeVoiceFile } from "../../../test/support/voice-factory.ts";
import { seededRandom, type Random } from "../../../test/fuzz/random.ts";
import { storeAudio } from "../../calls/audio/audio-files.ts";
import type { Menu, MenuNode } from "../../calls/state-machine/menu.ts";
import { positionOf } from "../../calls/state-machine/play-to-caller.ts";
import { beginTrial, passTime, pressKey, viewOf } from "../../calls/state-machine/try-menu.ts";
import type { VoicePlan } from "../../calls/state-machine/voice-plan.ts";
import type { VoiceDriver } from "../../drivers/voice/driver.ts";
import { validateMenu } from "./internal/validate-menu.ts";
import { graphOf } from "./menu-schema.ts";
import { snapshotMenu } from "./snapshot-menu.ts";

const menus = 100;
/** Longer calls only repeat themselves. */
const steps_max = 15;
const keys = Array.from("0123456789*#");
const variables = { name: "Asha" };

/** What is pressed while the prompts of a visit play, by visit. */
type Presses = ReadonlyMap<number, readonly string[]>;

/** By the number that is dialed. */
const scripts = new Map<string, Presses>();

/** The sandbox, whose phones press what their script says as soon as the prompts of a visit begin. */
const scripted = (driver: VoiceDriver): VoiceDriver => ({
  ...driver,
  open(node, onEvent, ...rest) {
    const session = driver.open(node, onEvent, ...rest);
    const dialed = new Map<string, string>();
    const begun = new Set<string>();
    return {
      ...session,
      async dial(dial) {
        dialed.set(dial.leg, dial.to.number);
        await session.dial(dial);
      },
      async play(leg, playback, audio) {
        await session.play(leg, playback, audio);
        const [, visit] = /-p(\d+)/.exec(playback)!;
        if (begun.has(`${leg} ${visit}`)) return;
        begun.add(`${leg} ${visit}`);
        for (const digit of scripts.get(dialed.get(leg)!)?.get(Number(visit)) ?? [])
          onEvent({ type: "digit", leg, digit, at: new Date() });
      },
    };
  },
});

let fixture: CallFixture;
let agent_group_id: number;
let audio: { readonly voice_file_id: number };
before(async () => {
  fixture = await openCallFixture({ through: scripted });
  const { app, account } = fixture;
  const { name, duration_ms } = await storeAudio(
    app.db.query,
    account.account_id,
    tone(500),
    app.clock.now(),
  );
  const voice_file_id = await makeVoiceFile(app, account, { audio_name: name, duration_ms });
  audio = { voice_file_id };
  agent_group_id = await makeAgentGroup(app, account, []);
  fixture.startLeaders();
});
after(() => fixture.close());

/** A valid menu of two to seven nodes that lead anywhere, also back. */
function generateMenu(random: Random): Promise<Menu> {
  for (;;) {
    const names = Array.from({ length: 2 + random.below(6) }, (_, i) => `n${i}`);
    const nodes = Object.fromEntries(names.map((name) => [name, generateNode(random, names)]));
    if (validateMenu("n0", nodes).length > 0) continue;
    const graph = graphOf({ start: "n0", nodes } as Parameters<typeof graphOf>[0]);
    return snapshotMenu(fixture.app.db.query, fixture.account.account_id, graph);
  }
}

function generateNode(random: Random, names: readonly string[]): object {
  const next = () => random.pick(names);
  const prompt = random.oneIn(4) ? { say: "Hello {{name|friend}}" } : audio;
  const asks = {
    prompt,
    ...(random.oneIn(2) ? { invalid_prompt: audio } : {}),
    timeout_seconds: 1,
    tries: 1 + random.below(3),
    otherwise: next(),
  };
  const choices = keys.filter(() => random.oneIn(3));
  const min_digits = 1 + random.below(3);
  const max_digits = min_digits + random.below(3);
  const nodes: readonly object[] = [
    { type: "play", prompt, next: next() },
    { type: "menu", ...asks, keys: Object.fromEntries(choices.map((key) => [key, next()])) },
    { type: "capture", ...asks, variable: "name", min_digits, max_digits, next: next() },
    { type: "record", prompt, max_seconds: 5, silence_seconds: 2, next: next() },
    { type: "transfer", prompt, to: { agent_group_id }, otherwise: next() },
    { type: "set_field", field: "interest", value: "{{name}}", next: next() },
    { type: "callback", prompt, delay_minutes: 60 },
    { type: "opt_out", prompt },
    { type: "hang_up", ...(random.oneIn(2) ? { prompt } : {}) },
  ];
  // Menus and entries have the most ways on.
  return random.oneIn(2) ? nodes[1 + random.below(2)]! : random.pick(nodes);
}

/** Tries a menu with random keys; returns them with the path. */
function tryMenu(menu: Menu, random: Random) {
  const at = new Date("2026-01-05T10:00:00Z");
  const presses = new Map<number, readonly string[]>();
  let pressed: string[] = [];
  let trial = beginTrial(menu, variables, at);
  while (viewOf(trial).doing !== "ended") {
    const { visit, prompts } = positionOf(trial.call);
    if (prompts.length > 0 && !presses.has(visit)) {
      const now = keysFor(menu.nodes[positionOf(trial.call).node!]!, random);
      presses.set(visit, now);
      pressed.push(...now);
    }
    const [key, ...later] = pressed;
    pressed = later;
    trial = key === undefined ? passTime(trial, at) : pressKey(trial, key, at);
  }
  const { path } = trial;
  const { ended_reason, collected } = viewOf(trial);
  return { presses, outcome: { path: [...path], ended_reason, collected } };
}

/** One key, or those of an entry, so that none is left for the next node. */
function keysFor(node: MenuNode, random: Random): string[] {
  if (random.oneIn(3)) return [];
  if (node.type !== "capture") return [random.pick(keys)];
  const digits = Array.from({ length: 1 + random.below(node.max_digits) }, () =>
    random.pick(keys.slice(0, 10)),
  );
  return digits.length < node.max_digits && random.oneIn(2) ? [...digits, "#"] : digits;
}

async function outcomeOf(campaign_id: number) {
  const { account_id } = fixture.account;
  const { query } = fixture.app.db;
  const call = await query
    .selectFrom("calls")
    .select(["id", "ended_reason", "collected"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .executeTakeFirstOrThrow();
  const path = await query
    .selectFrom("call_menu_steps")
    .select(["node", "key"])
    .where("account_id", "=", account_id)
    .where("call_id", "=", call.id)
    .orderBy("id")
    .execute();
  return { path, ended_reason: call.ended_reason, collected: call.collected };
}

test("100 generated menus take the same path when they are tried and when they are called, with the same keys", async () => {
  const random = seededRandom(20_261_124);
  const tried = [];
  while (tried.length < menus) {
    const menu = await generateMenu(random);
    const { presses, outcome } = tryMenu(menu, random);
    if (outcome.path.length > steps_max) continue;
    const plan: VoicePlan = {
      content: { call_type: "obd_ivr", menu },
      opt_out_key: null,
      answering_machine: "off",
    };
    // It does not hang up by itself.
    const number = `9${String(tried.length).padStart(3, "0")}777900`;
    scripts.set(`91${number}`, presses);
    const { id } = await makeVoiceCampaign(fixture.app, fixture.account, {
      campaign: {
        trunk_id: fixture.trunk_id,
        call_type: "obd_ivr",
        plan: JSON.stringify(plan),
      },
      recipients: [{ number, phone: `91${number}`, variables: JSON.stringify(variables) }],
    });
    tried.push({ id, menu, presses, outcome });
  }
  fixture.app.notifications.send("voice_work", String(fixture.trunk_id));
  await eventually(async () => {
    const { rows } = await fixture.app.db.pool.query<{ ended: number }>(
      "select count(*) as ended from calls where account_id = $1 and stage = 'ended'",
      [fixture.account.account_id],
    );
    return rows[0]!.ended >= menus;
  });
  for (const { id, menu, presses, outcome } of tried)
    assert.deepEqual(await outcomeOf(id), outcome, JSON.stringify({ menu, presses: [...presses] }));
  const steps = tried.reduce((sum, { outcome: { path } }) => sum + path.length, 0);
  assert.ok(steps > 4 * menus, `${steps} steps`);
});
