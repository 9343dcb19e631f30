import { storeAudio } from "../../server/calls/audio/audio-files.ts";
import { storedAiAgent } from "../../server/voice/ai-agents/ai-agent-schema.ts";
import type { TestApi } from "../support/api.ts";
import { unique, type TestAccount } from "../support/account-factory.ts";
import { tone } from "../support/tone-speech.ts";
import { makeVoiceFile } from "../support/voice-factory.ts";
import type { Ids } from "./seed-ids.ts";

/** Creates a voice file with audio, and a menu and an AI agent that it does not use. */
export async function seedVoiceContent(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<Pick<Ids, "voice_file_id" | "voice_menu_id" | "ai_agent_id">> {
  const db = app.db.query;
  const now = app.clock.now();
  const { account_id } = account;
  const { name: audio_name, duration_ms } = await storeAudio(db, account_id, tone(100), now);
  const script = `${mark} script`;
  const made = { account_id, created_at: now, updated_at: now };
  const menu = await db
    .insertInto("voice_menus")
    .values({
      ...made,
      name: unique(`${mark} menu`),
      graph: JSON.stringify({ start: "bye", nodes: { bye: { type: "hang_up", prompt: null } } }),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const agent = await db
    .insertInto("voice_ai_agents")
    .values({
      ...made,
      name: unique(`${mark} agent`),
      plan: JSON.stringify(storedAiAgent({ greeting: `${mark} greeting` }).plan),
      transfer_to: null,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return {
    voice_file_id: await makeVoiceFile(app, account, { audio_name, duration_ms, script }),
    voice_menu_id: menu.id,
    ai_agent_id: agent.id,
  };
}
