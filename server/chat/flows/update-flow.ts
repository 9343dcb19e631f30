import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { refuseTakenFlowName, refuseUnknownTemplate } from "./create-flow.ts";
import { flow_columns, flowResponse } from "./flow-schema.ts";
import type { FlowResponse, FlowKind, FlowPatch } from "./flow-schema.ts";
import { flowTable } from "./flows.ts";
import { toOpeningMessage } from "../messages/opening-message.ts";

/**
 * Changes a flow for campaigns created from now on. Errors: not-found; validation-failed for a name
 * in use or an unknown template.
 */
export async function updateFlow(
  tx: Tx,
  actor: Actor,
  { kind, id }: { readonly kind: FlowKind; readonly id: number | string },
  { opening: input, ...patch }: FlowPatch,
  now: Date,
): Promise<FlowResponse> {
  const { account_id } = actor;
  const opening = input && toOpeningMessage(input);
  if (opening) await refuseUnknownTemplate(tx, account_id, opening);
  const updated = await tx
    .updateTable(flowTable(kind))
    .set({
      ...patch,
      ...(opening ? { opening: JSON.stringify(opening) } : {}),
      updated_at: now,
    })
    .where("account_id", "=", account_id)
    .where(sql<boolean>`id = ${id}`)
    .returning(flow_columns)
    .executeTakeFirst()
    .catch((error: unknown) => refuseTakenFlowName(error, kind));
  if (!updated) throw notFound();
  await recordAudit(tx, actor, {
    at: now,
    action: kind === "chat_flows" ? "chat_flow.updated" : "automation_flow.updated",
    subject_id: id,
    detail: { changed: [...Object.keys(patch), ...(opening ? ["opening"] : [])] },
  });
  return flowResponse(updated);
}
