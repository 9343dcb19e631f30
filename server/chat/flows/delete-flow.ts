import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import type { FlowKind } from "./flow-schema.ts";
import { flowTable } from "./flows.ts";

/** Deletes a flow; campaigns keep their copy of its message. Errors: not-found. */
export async function deleteFlow(
  tx: Tx,
  actor: Actor,
  { kind, id }: { readonly kind: FlowKind; readonly id: number | string },
  now: Date,
): Promise<void> {
  const deleted = await tx
    .deleteFrom(flowTable(kind))
    .where("account_id", "=", actor.account_id)
    .where(sql<boolean>`id = ${id}`)
    .returning("id")
    .executeTakeFirst();
  if (!deleted) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: kind === "chat_flows" ? "chat_flow.deleted" : "automation_flow.deleted",
    subject_id: id,
  });
}
