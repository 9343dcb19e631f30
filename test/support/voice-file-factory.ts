// Creates voice files with the content that each call type needs.
import { createHash } from "node:crypto";
import type { AiAgentPlan } from "../../server/drivers/ai-agent/driver.ts";
import type { App } from "../../server/engine/app.ts";
import type { MenuGraph } from "../../server/voice/menus/menu-schema.ts";
import { unique, type TestAccount } from "./account-factory.ts";
import { makeVoiceFile } from "./voice-factory.ts";

type Account = Pick<TestAccount, "account_id" | "owner_id">;

/** An AI agent that says {{city}}, and {{name}} with a default. */
export const test_agent: AiAgentPlan = {
  driver: "scripted",
  language: "en",
  greeting: "Hello {{name|there}}, how is {{city}}?",
  instructions: "",
  model: null,
  voice: null,
  rules: [],
  fallback: "Bye",
  closing: "",
  fields: [],
  may_transfer: false,
  silence_seconds: 10,
  max_seconds: 60,
};

/** A menu that says {{plan}}. */
export const test_menu: MenuGraph = {
  start: "bye",
  nodes: { bye: { type: "hang_up", prompt: { say: "Your plan is {{plan}}", language: "en" } } },
};

/** Creates a ready file with one second of audio, a script with {{name}}, a menu and an AI agent; returns its ID. */
export async function makeFullVoiceFile(
  app: Pick<App, "db" | "clock">,
  account: Account,
  more: Readonly<Record<string, unknown>> = {},
): Promise<number> {
  const { account_id } = account;
  const now = app.clock.now();
  const db = app.db.query;
  const samples = Buffer.alloc(16_000);
  const audio_name = createHash("sha256").update(samples).digest("hex");
  const stamps = { account_id, created_at: now };
  await db
    .insertInto("voice_audio")
    .values({
      ...stamps,
      name: audio_name,
      samples,
      duration_ms: 1_000,
      synthesized: false,
      used_at: now,
    })
    .onConflict((on) => on.doNothing())
    .execute();
  const menu = await db
    .insertInto("voice_menus")
    .values({ ...stamps, name: unique("menu"), graph: JSON.stringify(test_menu), updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  const agent = await db
    .insertInto("voice_ai_agents")
    .values({ ...stamps, name: unique("agent"), plan: JSON.stringify(test_agent), updated_at: now })
    .returning("id")
    .executeTakeFirstOrThrow();
  return makeVoiceFile(app, account, {
    audio_name,
    duration_ms: 1_000,
    text: null,
    script: "Hello {{name}}",
    menu_id: menu.id,
    ai_agent_id: agent.id,
    opt_out_key: "9",
    answering_machine: "retry",
    ...more,
  });
}
