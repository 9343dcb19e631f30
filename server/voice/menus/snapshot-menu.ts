import type { Kysely } from "kysely";
import type { Menu, MenuNode, Prompt } from "../../calls/state-machine/menu.ts";
import type { DB } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import type { GraphNode, MenuGraph, MenuPrompt } from "./menu-schema.ts";

type AudioFiles = ReadonlyMap<number, { readonly name: string; readonly duration_ms: number }>;

/**
 * Copies a menu for a campaign with the current audio of its voice files, so that later changes do not
 * affect the campaign. Refuses: validation-failed (voice_file_id) when one of them has no audio or is not ready.
 */
export async function snapshotMenu(
  db: Kysely<DB>,
  account_id: number,
  { start, nodes }: MenuGraph,
): Promise<Menu> {
  const audio_files = await findAudioFiles(db, account_id, Object.values(nodes).flatMap(filesOf));
  const kept = Object.entries(nodes).map(([name, node]) => [name, snapshotNode(node, audio_files)]);
  return { start, nodes: Object.fromEntries(kept) as Menu["nodes"] };
}

function filesOf(node: GraphNode): number[] {
  return promptsOf(node).flatMap((prompt) => ("say" in prompt ? [] : [prompt.voice_file_id]));
}

function promptsOf(node: GraphNode): MenuPrompt[] {
  const prompts = [
    "prompt" in node ? node.prompt : null,
    "invalid_prompt" in node ? node.invalid_prompt : null,
  ];
  return prompts.filter((prompt) => prompt !== null);
}

async function findAudioFiles(
  db: Kysely<DB>,
  account_id: number,
  ids: number[],
): Promise<AudioFiles> {
  if (ids.length === 0) return new Map();
  const files = await db
    .selectFrom("voice_files")
    .select(["id", "audio_name", "duration_ms"])
    .where("account_id", "=", account_id)
    .where("id", "in", [...new Set(ids)])
    .where("status", "=", "ready")
    // A file with only a script, a menu or an AI agent is ready without audio.
    .where("audio_name", "is not", null)
    .execute();
  const ready = files.map(
    ({ id, audio_name, duration_ms }) =>
      [id, { name: audio_name!, duration_ms: duration_ms! }] as const,
  );
  const audio_files = new Map(ready);
  const absent = ids.find((id) => !audio_files.has(id));
  if (absent === undefined) return audio_files;
  throw invalidField(
    "voice_file_id",
    `must be a voice file whose menu plays only ready voice files with audio; voice file ${absent} has no audio or is not ready`,
  );
}

function snapshotNode(node: GraphNode, audio_files: AudioFiles): MenuNode {
  const changed: { prompt?: Prompt | null; invalid_prompt?: Prompt | null } = {};
  if ("prompt" in node) changed.prompt = promptOf(node.prompt, audio_files);
  if ("invalid_prompt" in node) changed.invalid_prompt = promptOf(node.invalid_prompt, audio_files);
  return { ...node, ...changed } as MenuNode;
}

function promptOf(prompt: MenuPrompt | null, audio_files: AudioFiles): Prompt | null {
  if (prompt === null || "say" in prompt) return prompt;
  // findAudioFiles guarantees that each file is present.
  return { audio: audio_files.get(prompt.voice_file_id)! };
}
