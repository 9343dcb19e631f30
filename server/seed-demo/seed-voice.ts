// The demo's voice campaign data: content for every call type, and numbers to call.
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Actor } from "../accounts/audit/record-audit.ts";
import { storeAudio } from "../calls/audio/audio-files.ts";
import { collectSamples } from "../lib/audio/collect-samples.ts";
import { readWav } from "../lib/audio/wav.ts";
import type { Tx } from "../lib/database/database.ts";
import { createAiAgent } from "../voice/ai-agents/create-ai-agent.ts";
import { createMenu } from "../voice/menus/create-menu.ts";

const audio_ms_max = 60_000;

/** Creates a voice file with a recording, a script, a menu and an AI agent, so that it serves every call type. */
export async function seedVoice(
  tx: Tx,
  {
    account_id,
    owner_id,
    agent_group_id,
  }: {
    readonly account_id: number;
    readonly owner_id: number;
    readonly agent_group_id: number;
  },
  now: Date,
): Promise<{ voice_file_id: number }> {
  const actor: Actor = { account_id, user_id: null, token_id: null, request_id: "demo" };
  const menu = await createMenu(tx, actor, menuTo(agent_group_id), now);
  const agent = await createAiAgent(tx, actor, agentTo(agent_group_id), now);
  const sound = collectSamples(audio_ms_max);
  readWav(await readFile(new URL("demo-message.wav", import.meta.url)), sound);
  const audio = await storeAudio(tx, account_id, sound.samples(), now);
  const file = await tx
    .insertInto("voice_files")
    .values({
      account_id,
      name: "Demo message",
      status: "ready",
      format: "wav",
      audio_name: audio.name,
      duration_ms: audio.duration_ms,
      script: "Hello {{name|there}}! Greetings to {{city|your city}} from the demo. Goodbye.",
      menu_id: menu.id,
      ai_agent_id: agent.id,
      opt_out_key: "9",
      // Answering machines are detected and counted separately.
      answering_machine: "play",
      created_by: owner_id,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { voice_file_id: file.id };
}

function menuTo(agent_group_id: number): Parameters<typeof createMenu>[2] {
  const choices = "Press 1 to say thank you, 2 to talk to someone, or 9 to opt out of these calls.";
  return {
    name: "Demo menu",
    start: "main",
    nodes: {
      main: {
        type: "menu",
        prompt: { say: `Hello {{name|there}}! ${choices}` },
        keys: { "1": "thanks", "2": "support", "9": "stop" },
        otherwise: "bye",
      },
      thanks: { type: "play", prompt: { say: "Thank you very much!" }, next: "bye" },
      support: {
        type: "transfer",
        prompt: { say: "One moment please." },
        to: { agent_group_id },
        otherwise: "bye",
      },
      stop: { type: "opt_out", prompt: { say: "We will not call again." } },
      bye: { type: "hang_up", prompt: { say: "Goodbye." } },
    },
  };
}

function agentTo(agent_group_id: number): Parameters<typeof createAiAgent>[2] {
  const rule = (keys: string, keyword: string, say: string) => ({ keys, keywords: [keyword], say });
  return {
    name: "Demo agent",
    greeting: "Hello {{name|there}}! Press 1 for our hours, 2 for a person, or 9 to opt out.",
    rules: [
      rule("1", "hours", "We are here from nine to five. What else can I do for you?"),
      // oxlint-disable-next-line unicorn/no-thenable -- `then` is a field of the plan, not a method
      { ...rule("2", "person", "One moment please."), then: "transfer" },
      // oxlint-disable-next-line unicorn/no-thenable -- `then` is a field of the plan, not a method
      { ...rule("9", "stop", "We will not call again. Goodbye."), then: "opt_out" },
    ],
    transfer_to: { agent_group_id },
  };
}

const number_column = "phone";
// The numbers end in no digits that give the sandbox an instruction.
const csv_rows = [
  [number_column, "name", "city"],
  ["9000000021", "Asha", "Pune"],
  ["9000000022", "Ravi", "Delhi"],
  ["9000000023", "Meera", ""],
];

/** Writes a CSV of people to call into the data folder. */
export async function seedCsv(
  dataDir: string,
): Promise<{ csv_file: string; csv_number_column: string }> {
  const csv_file = resolve(join(dataDir, "demo-numbers.csv"));
  await writeFile(csv_file, csv_rows.map((row) => `${row.join(",")}\n`).join(""), { mode: 0o600 });
  return { csv_file, csv_number_column: number_column };
}
