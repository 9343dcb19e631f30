import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import {
  aiAgentResponse,
  storedAiAgent,
  type AiAgentResponse,
  type NewAiAgent,
} from "./ai-agent-schema.ts";

/** Creates an AI agent that validateAiAgent accepted. Refuses: validation-failed (name taken). */
export async function createAiAgent(
  tx: Tx,
  actor: Actor,
  { name, ...body }: NewAiAgent,
  now: Date,
): Promise<AiAgentResponse> {
  const { plan, transfer_to, rehearsals } = storedAiAgent(body);
  const created = await tx
    .insertInto("voice_ai_agents")
    .values({
      account_id: actor.account_id,
      name,
      plan: JSON.stringify(plan),
      transfer_to: transfer_to && JSON.stringify(transfer_to),
      rehearsals: JSON.stringify(rehearsals),
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenAiAgent);
  await recordAudit(tx, actor, { at: now, action: "ai_agent.created", subject_id: created.id });
  return aiAgentResponse(created);
}

/** Refuses validation-failed on `name` if its unique constraint was violated; rethrows any other error. */
export function refuseTakenAiAgent(error: unknown): never {
  if (violatesUnique(error, "voice_ai_agents_account_id_name_key"))
    throw invalidField("name", "is already the name of an AI agent");
  throw error;
}
