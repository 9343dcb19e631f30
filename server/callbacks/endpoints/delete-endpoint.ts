import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { addJob } from "../../engine/add-job.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";

/**
 * Deletes an endpoint: it disappears from the API and receives nothing; a job deletes its rows and deliveries.
 * Refuses: not-found; conflict while an unfinished campaign uses it as callback_url.
 */
export async function deleteEndpoint(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const row = await tx
    .selectFrom("callback_endpoints")
    .select(["kind", "url"])
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", "is", null)
    // The strongest lock waits for launches that rely on the endpoint before their campaigns are searched.
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
  const detail = `Unfinished voice campaign ${campaign.id} uses the endpoint as its callback_url`;
  throw new Refusal("conflict", detail);
}
