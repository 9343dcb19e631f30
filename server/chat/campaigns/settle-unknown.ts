// Ends messages that neither the provider nor a delivery status ever confirmed: failed, with
// outcome unknown, and charged, because most of them were sent. A later status still corrects the
// state. Completes their campaign, also if the process that ended its last recipient could not.
import { sql } from "kysely";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeChatCampaigns } from "./complete-chat-campaigns.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";

const batch_rows = 1_000;

/** Runs the job chat.settle_unknown of one campaign; reschedules it while more become due. */
export async function settleUnknown(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
): Promise<{ again_at: Date } | void> {
  const campaign_id = Number(subject);
  const now = app.clock.now();
  for (;;) {
    // Without the count, each run reads the deferred recipients, which are in the same index, if none is unknown.
    const has_unknown = await hasUnknown(app, account_id, campaign_id);
    const due = has_unknown ? await findDue(app, account_id, campaign_id, now) : [];
    const moves = due
      .toSorted((a, b) => a.id - b.id)
      .map(({ id, dispatches }) => ({
        campaign_id,
        id,
        dispatches,
        state: "unresolved" as const,
        error: "outcome_unknown",
      }));
    await moveRecipients(app.db.pool, account_id, moves, now);
    await completeChatCampaigns(app, account_id, [campaign_id]);
    if (due.length > 0 && stopping.aborted) return { again_at: now };
    if (due.length > 0) continue;
    const next = has_unknown ? await findNext(app, account_id, campaign_id, now) : null;
    return next === null ? undefined : { again_at: next };
  }
}

async function hasUnknown(app: App, accountId: number, campaignId: number): Promise<boolean> {
  const { unknown } = await app.db.query
    .selectFrom("chat_counts")
    .select(sql<number>`coalesce(sum(unknown), 0)::int`.as("unknown"))
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .executeTakeFirstOrThrow();
  return unknown > 0;
}

function findDue(app: App, accountId: number, campaignId: number, now: Date) {
  return app.db.query
    .selectFrom("chat_recipients")
    .select(["id", "dispatches"])
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .where("due_at", "<=", now)
    .where("state", "=", "unknown")
    .orderBy("due_at")
    .limit(batch_rows)
    .execute();
}

/**
 * Returns when the next recipient of unknown outcome is due; earlier, if many deferred ones are due before it: the run at
 * that time reads on.
 */
async function findNext(
  app: App,
  accountId: number,
  campaignId: number,
  now: Date,
): Promise<Date | null> {
  const pending = await app.db.query
    .selectFrom("chat_recipients")
    .select(["due_at", "state"])
    .where("account_id", "=", accountId)
    .where("campaign_id", "=", campaignId)
    .where("due_at", ">", now)
    .orderBy("due_at")
    .limit(batch_rows)
    .execute();
  const next = pending.find(({ state }) => state === "unknown");
  return next?.due_at ?? pending[batch_rows - 1]?.due_at ?? null;
}
