// Ends messages that neither the provider nor a delivery status ever confirmed: failed, with
// outcome unknown, and charged, because most of them were sent. A later status still corrects the
// state. Completes their campaign, also if the process that ended its last recipient could not.
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
    const unknown = await app.db.query
      .selectFrom("chat_recipients")
      .select(["id", "dispatches", "due_at"])
      .where("account_id", "=", account_id)
      .where("campaign_id", "=", campaign_id)
      .where("due_at", "is not", null)
      .where("state", "=", "unknown")
      .orderBy("due_at")
      .limit(batch_rows)
      .execute();
    const due = unknown.filter(({ due_at }) => due_at! <= now);
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
    const next = unknown.map(({ due_at }) => due_at!.getTime());
    return next.length > 0 ? { again_at: new Date(Math.min(...next)) } : undefined;
  }
}
