import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { flow_columns, flowResponse } from "./flow-schema.ts";
import type { FlowResponse, FlowKind, NewFlow } from "./flow-schema.ts";
import { flowTable } from "./flows.ts";
import { toOpeningMessage, type OpeningMessage } from "../messages/opening-message.ts";

/** Creates a flow. Errors: validation-failed for a name in use or an unknown template. */
export async function createFlow(
  tx: Tx,
  actor: Actor,
  kind: FlowKind,
  flow: NewFlow,
  now: Date,
): Promise<FlowResponse> {
  const { account_id } = actor;
  const opening = toOpeningMessage(flow.opening);
  await refuseUnknownTemplate(tx, account_id, opening);
  const created = await tx
    .insertInto(flowTable(kind))
    .values({
      account_id,
      name: flow.name,
      active: flow.active ?? true,
      opening: JSON.stringify(opening),
      created_at: now,
      updated_at: now,
    })
    .returning(flow_columns)
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => refuseTakenFlowName(error, kind));
  await recordAudit(tx, actor, {
    at: now,
    action: kind === "chat_flows" ? "chat_flow.created" : "automation_flow.created",
    subject_id: created.id,
  });
  return flowResponse(created);
}

/** Throws 422 unless the template of the opening message belongs to the account. */
export async function refuseUnknownTemplate(
  tx: Tx,
  accountId: number,
  opening: OpeningMessage,
): Promise<void> {
  if (opening.type !== "template") return;
  // Locked, so that it cannot be deleted before the flow commits.
  const template = await tx
    .selectFrom("chat_templates")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(opening.template_id))
    .forKeyShare()
    .executeTakeFirst();
  if (!template) throw invalidField("opening.template_id", "is not a template of this account");
}

/** Maps a violated unique constraint to 422 on `name`; rethrows any other error. */
export function refuseTakenFlowName(error: unknown, kind: FlowKind): never {
  if (violatesUnique(error, `${kind}_account_id_name_key`)) {
    throw invalidField("name", "is already the name of a flow");
  }
  throw error;
}
