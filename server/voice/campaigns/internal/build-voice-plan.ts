// Copies the content of a campaign's calls from its voice file at launch: later changes of the file, its
// menu or its AI agent do not affect the campaign.
import type { Kysely, Selectable } from "kysely";
import type { Menu, TransferTarget } from "../../../calls/state-machine/menu.ts";
import type {
  CallType,
  MachinePolicy,
  VoiceContent,
  VoicePlan,
} from "../../../calls/state-machine/voice-plan.ts";
import type { AiAgentPlan } from "../../../drivers/ai-agent/driver.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import type { MenuGraph } from "../../menus/menu-schema.ts";
import { snapshotMenu } from "../../menus/snapshot-menu.ts";

/** A voice file that is ready. */
export type ReadyFile = Selectable<DB["voice_files"]>;

/** Returns the voice file with this id (any integer), or why a campaign cannot use it. */
export async function findReadyFile(
  db: Kysely<DB>,
  accountId: number,
  fileId: number,
): Promise<ReadyFile | string> {
  const file = await db
    .selectFrom("voice_files")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(fileId))
    .where("active", "=", true)
    .executeTakeFirst();
  if (!file) return "is not an active voice file of this account";
  if (file.status === "processing")
    return "must be a voice file that is ready; this one is still processing, try again shortly";
  if (file.status !== "ready") return "must be a voice file that is ready; this one was rejected";
  return file;
}

/** Returns the plan, or why the call type cannot use the file. */
export async function buildVoicePlan(
  db: Kysely<DB>,
  accountId: number,
  file: ReadyFile,
  callType: CallType,
): Promise<VoicePlan | string> {
  const content = await makeContent(db, accountId, file, callType);
  if (typeof content === "string") return content;
  const { opt_out_key, answering_machine } = file;
  return { content, opt_out_key, answering_machine: answering_machine as MachinePolicy };
}

async function makeContent(
  db: Kysely<DB>,
  accountId: number,
  file: ReadyFile,
  call_type: CallType,
): Promise<VoiceContent | string> {
  const { audio_name, duration_ms, script, language, menu_id, ai_agent_id } = file;
  switch (call_type) {
    case "obd_voice_call":
      if (audio_name === null || duration_ms === null)
        return "must be a voice file with audio, which obd_voice_call requires";
      return { call_type, prompt: { audio: { name: audio_name, duration_ms } } };
    case "obd_smartvoice":
      return script === null
        ? "must be a voice file with a script, which obd_smartvoice requires"
        : { call_type, script, language };
    case "obd_ivr": {
      if (menu_id === null) return "must be a voice file with a menu, which obd_ivr requires";
      const menu = await readMenu(db, accountId, menu_id);
      return typeof menu === "string" ? menu : { call_type, menu };
    }
    case "ai_bot":
      return ai_agent_id === null
        ? "must be a voice file with an AI agent, which ai_bot requires"
        : { call_type, ...(await readAgent(db, accountId, ai_agent_id)) };
  }
}

async function readMenu(db: Kysely<DB>, accountId: number, menuId: number): Promise<Menu | string> {
  const { graph } = await db
    .selectFrom("voice_menus")
    .select("graph")
    .where("account_id", "=", accountId)
    .where("id", "=", menuId)
    .executeTakeFirstOrThrow();
  try {
    return await snapshotMenu(db, accountId, graph as MenuGraph);
  } catch (error) {
    const reason = error instanceof Refusal ? error.errors?.[0]?.reason : undefined;
    if (reason === undefined) throw error;
    return reason;
  }
}

async function readAgent(db: Kysely<DB>, accountId: number, agentId: number) {
  const { plan, transfer_to } = await db
    .selectFrom("voice_ai_agents")
    .select(["plan", "transfer_to"])
    .where("account_id", "=", accountId)
    .where("id", "=", agentId)
    .executeTakeFirstOrThrow();
  return { agent: plan as AiAgentPlan, transfer_to: transfer_to as TransferTarget | null };
}
