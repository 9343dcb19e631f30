import type { Kysely } from "kysely";
import type { AiAgentDrivers, AiAgentPlan } from "../../drivers/ai-agent/driver.ts";
import type { DB } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import type { AiAgentPatch } from "./ai-agent-schema.ts";

type CheckedPlan = Pick<AiAgentPlan, "driver" | "model" | "voice" | "language">;

/**
 * Asks the server of a realtime AI agent whether it accepts its model and voice, outside of any transaction.
 * Refuses: validation-failed when it does not. A server that does not answer refuses nothing.
 */
export async function refuseUnusableModel(
  drivers: AiAgentDrivers,
  plan: CheckedPlan,
): Promise<void> {
  if (plan.driver !== "realtime") return;
  const check = await drivers.realtime?.checkModel?.(plan);
  if (check?.outcome !== "refused") return;
  const { part, code } = check;
  if (part === "voice" && plan.voice !== null)
    throw invalidField("voice", `is refused by the realtime server (${code})`);
  if (part === "model" && plan.model !== null)
    throw invalidField("model", `is refused by the realtime server (${code})`);
  const what = part === "model" || part === "voice" ? `default ${part}` : part;
  throw invalidField("driver", `the realtime server refuses the installation's ${what} (${code})`);
}

/** The same for a patch that changes what the server is asked. The AI agent may not exist. */
export async function refuseUnusableChange(
  db: Kysely<DB>,
  accountId: number,
  { id, drivers }: { readonly id: number; readonly drivers: AiAgentDrivers },
  patch: AiAgentPatch,
): Promise<void> {
  const asked = ["driver", "model", "voice"] as const;
  if (!asked.some((field) => patch[field] !== undefined)) return;
  const row = await db
    .selectFrom("voice_ai_agents")
    .select("plan")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return;
  const { driver, model, voice, language } = { ...(row.plan as AiAgentPlan), ...patch };
  await refuseUnusableModel(drivers, { driver, model, voice, language });
}
