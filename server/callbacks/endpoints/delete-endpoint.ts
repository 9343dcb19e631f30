import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";

/**
 * Deletes an endpoint: from now on nobody sees it and nothing is sent to it; a job clears it away with
 * its deliveries. Refuses: not-found; conflict while an unfinished campaign has it as callback_url.
 */
export async function deleteEndpoint(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const row = await tx
    .selectFrom("callback_endpoints")
    .select(["kind", "url"])
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    // The strongest lock: a launch that relies on the endpoint ends before its campaign is looked for.
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  if (row.kind === "campaign") await refuseWhileNeeded(tx, account_id, row.url);
  await tx
    .updateTable("callback_endpoints")
    .set({ deleted_at: now, enabled: false, work_at: null, updated_at: now })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .execute();
  const kind = "callbacks.clear_endpoint";
  await addJob(tx, { account_id, kind, subject: String(id), run_at: now }, now);
  await recordAudit(tx, actor, { at: now, action: "callback_endpoint.deleted", subject_id: id });
}

async function refuseWhileNeeded(tx: Tx, account_id: number, url: string): Promise<void> {
  const campaign = await tx
    .selectFrom("voice_campaigns")
    .select("id")
    .where("account_id", "=", account_id)
    .where("callback_url", "=", url)
    .where("finished_at", "is", null)
    .limit(1)
    .executeTakeFirst();
  if (!campaign) return;
  const detail = `Voice campaign ${campaign.id} is not finished and has it as callback_url`;
  throw new Refusal("conflict", detail);
}
