// What is done on a campaign's calls, taken from its voice file as it is at the launch: later changes of
// the file, its menu or its agent change no campaign.
import type { Kysely, Selectable } from "kysely";
import type { Menu, TransferTarget } from "../../../calls/state-machine/menu.ts";
import type {
  CallType,
  MachinePolicy,
  VoiceContent,
  VoicePlan,
} from "../../../calls/state-machine/voice-plan.ts";
import type { AgentPlan } from "../../../drivers/ai-agent/driver.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import type { MenuGraph } from "../../menus/menu-schema.ts";
import { snapshotMenu } from "../../menus/snapshot-menu.ts";

/** A voice file that is ready. */
export type ReadyFile = Selectable<DB["voice_files"]>;

/** The voice file (any integer), or why it cannot be called with. */
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
  if (!file) return "is no active voice file of this account";
  if (file.status === "processing")
    return "is a voice file that is not ready yet: try again shortly";
  if (file.status !== "ready") return "is a voice file that was rejected";
  return file;
}

/** The plan, or why the file will not do for the call type. */
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
      if (audio_name === null || duration_ms === null) return "has no recording to play";
      return { call_type, prompt: { audio: { name: audio_name, duration_ms } } };
    case "obd_smartvoice":
      return script === null
        ? "has no script, which obd_smartvoice speaks"
        : { call_type, script, language };
    case "obd_ivr": {
      if (menu_id === null) return "has no menu, which obd_ivr needs";
      const menu = await readMenu(db, accountId, menu_id);
      return typeof menu === "string" ? menu : { call_type, menu };
    }
    case "ai_bot":
      return ai_agent_id === null
        ? "has no AI agent, which ai_bot needs"
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
    .selectFrom("voice_agents")
    .select(["plan", "transfer_to"])
    .where("account_id", "=", accountId)
    .where("id", "=", agentId)
    .executeTakeFirstOrThrow();
  return { agent: plan as AgentPlan, transfer_to: transfer_to as TransferTarget | null };
}
