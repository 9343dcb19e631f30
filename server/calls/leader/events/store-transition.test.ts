// Which transitions survive a crash of the database: those whose transaction waits for the disk.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testClock } from "../../../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../../../test/support/database.ts";
import { makeContact } from "../../../../test/support/crm-factory.ts";
import { runTransition } from "../../../../test/support/run-transition.ts";
import { makeCallingAccount } from "../../../../test/support/telephony-factory.ts";
import { makeVoiceCampaign } from "../../../../test/support/voice-factory.ts";
import { openDatabase, type Database } from "../../../lib/database/database.ts";
import { openLog } from "../../../lib/log.ts";
import { messageName, playbackName, type Call, type Line } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import type { Menu, MenuNode } from "../../state-machine/menu.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { claimRecipients } from "../node/leader-statements.ts";
import { storeTransition } from "./store-transition.ts";

const noon = new Date("2026-03-01T12:00:00Z");
const clock = testClock();
const line: Line = {
  customer: { kind: "trunk", endpoint: "carrier", number: "919876543210" },
  caller_id: "8000000001",
};

let database: TestDatabase;
let db: Database;

before(async () => {
  clock.set(noon);
  database = await cloneDatabase();
  db = openDatabase(database.url, openLog("silent", { readable: false }));
  // At the commit, because a statement may change the setting for the rest of its transaction.
  await db.pool.query(`
    create table commits (id int generated always as identity, setting text not null);
    create function record_commit() returns trigger language plpgsql as $$
    begin
      insert into commits (setting) values (current_setting('synchronous_commit'));
      return null;
    end $$;
    create constraint trigger commits after update on calls deferrable initially deferred
      for each row execute function record_commit()`);
});
after(async () => {
  await db.close();
  await database.drop();
});

/** An event without its time. */
type Untimed<Event = CallEvent> = Event extends CallEvent ? Omit<Event, "at"> : never;

/** A call of a campaign with this content, whose recipient has answered. */
async function answered(content: VoiceContent, opt_out_key: string | null = null): Promise<Call> {
  const { call } = await claimed(content, { opt_out_key });
  return (await store(call, { type: "answered", leg: 1 })).call;
}

/** A call of a new campaign that is retried once, and `again`, which claims its recipient in these zones at this time. */
async function claimed(
  content: VoiceContent,
  { opt_out_key = null, time_zone }: { opt_out_key?: string | null; time_zone?: string } = {},
) {
  const account = await makeCallingAccount({ db, clock });
  const { account_id } = account;
  const plan = JSON.stringify({ content, opt_out_key, answering_machine: "off" });
  const { call_type } = content;
  const campaign = { call_type, plan, max_retry: 1 };
  const { id: campaign_id, trunk_id } = await makeVoiceCampaign({ db, clock }, account, {
    campaign,
  });
  const { node_id } = await db.query
    .selectFrom("trunk_nodes")
    .select("node_id")
    .where("trunk_id", "=", trunk_id)
    .executeTakeFirstOrThrow();
  const of = { account_id, campaign_id, trunk_id, node_id, fence: 0, take: 1, caller_id: "0" };
  const { phone } = await db.query
    .selectFrom("voice_recipients")
    .select("phone")
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .executeTakeFirstOrThrow();
  if (time_zone)
    await makeContact({ db, clock }, account, {
      name: "Ada",
      phone: phone.slice(2),
      phone_e164: `+${phone}`,
      time_zone,
    });
  const again = (zones: string, at: Date) =>
    claimRecipients(db.pool, { ...of, time_zones: [zones] }, at);
  const [call] = await again("", noon);
  return { call: call!, again };
}

/** Handles the events in order; returns the call after them, and whether the last transaction waited for the disk. */
async function store(first: Call, ...events: readonly Untimed[]) {
  let call = first;
  for (const event of events) {
    const next = runTransition(call, line, { ...event, at: noon });
    assert.ok(next && next.call.steps > call.steps, `${event.type} stores nothing`);
    await storeTransition(db, 0, { before: call, line, next }, noon);
    call = next.call;
  }
  const { rows } = await db.pool.query<{ setting: string }>(
    "select setting from commits order by id desc limit 1",
  );
  return { call, isDurable: rows[0]!.setting === "on" };
}

async function isSuppressed({ account_id, to_phone }: Call): Promise<boolean> {
  const found = await db.query
    .selectFrom("suppressions")
    .select("id")
    .where("account_id", "=", account_id)
    .where("phone", "=", to_phone)
    .execute();
  return found.length > 0;
}

const prompt = { say: "Goodbye", language: "en" } as const;
const talking: VoiceContent = { call_type: "ai_bot", agent: {} as never, transfer_to: null };
const message: VoiceContent = { call_type: "obd_voice_call", prompt };
const press = (digit: string) => ({ type: "digit", leg: 1, digit }) as const;

/** A menu whose key 1 leads to the node. */
function menuTo(node: MenuNode): VoiceContent {
  const ask = { invalid_prompt: null, timeout_seconds: 5, tries: 3, otherwise: "bye" };
  const nodes: Menu["nodes"] = {
    main: { type: "menu", prompt, keys: { "1": "chosen" }, ...ask },
    chosen: node,
    bye: { type: "hang_up", prompt: null },
  };
  return { call_type: "obd_ivr", menu: { start: "main", nodes } };
}

test("an opt-out survives a crash of the database, however it is asked for", async () => {
  const tool = { type: "tool", tool: { name: "opt_out" } } as const;
  const opted_out = [
    await store(await answered(talking), tool),
    await store(await answered(talking), { type: "hangup", reason: "too_long" }, tool),
    await store(await answered(message, "9"), press("9")),
    await store(await answered(message, "9"), { type: "hangup", reason: "too_long" }, press("9")),
    await store(await answered(menuTo({ type: "opt_out", prompt })), press("1")),
  ];
  for (const { call, isDurable } of opted_out)
    assert.deepEqual([call.opted_out, await isSuppressed(call), isDurable], [true, true, true]);
});

test("a promised callback survives a crash of the database", async () => {
  const at = new Date(noon.getTime() + 3_600_000).toISOString();
  const tool = { type: "tool", tool: { name: "schedule_callback", at } } as const;
  const node = { type: "callback", delay_minutes: 60, prompt } as const;
  const promised = [
    await store(await answered(talking), tool),
    await store(await answered(menuTo(node)), press("1")),
  ];
  for (const { call, isDurable } of promised)
    assert.deepEqual([call.callback_at?.toISOString(), isDurable], [at, true]);
});

test("a promised callback and a retry are claimed at their time, in the time zone that a contact got after the launch", async () => {
  const time_zone = "America/New_York";
  const ending = { outcome: "hung_up", cause: 16, sip_status: null, by: "far_end" } as const;
  const callback_at = new Date(noon.getTime() + 3_600_000);
  const node = { type: "callback", delay_minutes: 60, prompt } as const;
  const promised = await claimed(menuTo(node), { time_zone });
  await store(promised.call, { type: "answered", leg: 1 }, press("1"), {
    type: "ended",
    leg: 1,
    ending,
  });
  const busy = await claimed(message, { time_zone });
  await store(busy.call, { type: "ended", leg: 1, ending: { ...ending, outcome: "busy" } });
  for (const { call, again } of [promised, busy]) {
    const { rows } = await db.pool.query<{ time_zones: string[] }>(
      "select time_zones from voice_campaigns where account_id = $1 and id = $2",
      [call.account_id, call.campaign_id],
    );
    assert.ok(rows[0]!.time_zones.includes(time_zone));
    const [next] = await again(time_zone, callback_at);
    assert.equal(next?.voice?.recipient_id, call.voice!.recipient_id);
  }
});

test("the end of a recording survives a crash of the database", async () => {
  const recorded = await store(await answered(talking), { type: "recorded", ok: true });
  assert.deepEqual([recorded.call.recording_state, recorded.isDurable], ["ready", true]);
  const limits = { max_seconds: 60, silence_seconds: 3 };
  const node = { type: "record", prompt, next: "main", ...limits } as const;
  const { call: asked } = await store(await answered(menuTo(node)), press("1"));
  const playback = playbackName(asked, asked.position!.visit);
  const { call } = await store(asked, { type: "played", leg: 1, playback, ok: true });
  const recording = messageName(call, call.position!.visit);
  const left = await store(call, { type: "message", recording, ok: true });
  assert.deepEqual([left.call.stage, left.isDurable], ["talking", true]);
});

test("a key does not wait for the disk", async () => {
  const pressed = await store(
    await answered(menuTo({ type: "play", prompt, next: "bye" })),
    press("1"),
  );
  assert.deepEqual([pressed.call.position?.node, pressed.isDurable], ["chosen", false]);
});
