import type { Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { AiAgentDrivers } from "../../drivers/ai-agent/driver.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalid, notFound, type FieldError } from "../../lib/errors.ts";
import {
  aiAgentResponse,
  bodyOfAiAgent,
  storedAiAgent,
  type AiAgentResponse,
  type AiAgentPatch,
  type StoredAiAgent,
} from "./ai-agent-schema.ts";
import { refuseTakenAiAgent } from "./create-ai-agent.ts";
import { fieldsOf } from "../files/validate-content.ts";
import { validateAiAgent } from "./validate-ai-agent.ts";

/**
 * Updates an AI agent for campaigns launched from now on. Refuses: not-found; validation-failed (name
 * taken; not valid in combination with a concurrent change).
 */
export async function updateAiAgent(
  tx: Tx,
  actor: Actor,
  { id, drivers }: { readonly id: number; readonly drivers: AiAgentDrivers },
  { name, ...patch }: AiAgentPatch,
  now: Date,
): Promise<AiAgentResponse> {
  const { account_id } = actor;
  const row = await tx
    .selectFrom("voice_ai_agents")
    .select(["plan", "transfer_to", "rehearsals"])
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  const body = { ...bodyOfAiAgent(row as StoredAiAgent), ...patch };
  const violations = await validateAiAgent(tx, account_id, drivers, body);
  if (violations.length > 0) throw invalid(violations);
  const { plan, transfer_to, rehearsals } = storedAiAgent(body);
  const updated = await tx
    .updateTable("voice_ai_agents")
    .set({
      ...(name === undefined ? {} : { name }),
      plan: JSON.stringify(plan),
      transfer_to: transfer_to && JSON.stringify(transfer_to),
      rehearsals: JSON.stringify(rehearsals),
      updated_at: now,
    })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenAiAgent);
  const detail = { changed: [...(name === undefined ? [] : ["name"]), ...Object.keys(patch)] };
  await recordAudit(tx, actor, { at: now, action: "ai_agent.updated", subject_id: id, detail });
  return aiAgentResponse(updated);
}

/** Validates a patch beyond the schema; it may have any shape, and the AI agent may not exist. */
export async function validateAiAgentPatch(
  db: Kysely<DB>,
  accountId: number,
  { id, drivers }: { readonly id: number; readonly drivers: AiAgentDrivers },
  patch: unknown,
): Promise<FieldError[]> {
  const row = await db
    .selectFrom("voice_ai_agents")
    .select(["plan", "transfer_to", "rehearsals"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return [];
  const body = { ...bodyOfAiAgent(row as StoredAiAgent), ...fieldsOf(patch) };
  return validateAiAgent(db, accountId, drivers, body);
}
