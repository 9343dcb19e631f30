// Cancels the remaining recipients of a cancelled or failed campaign, in batches. Calls in progress
// continue to their end, and their recipients are not called again.
import { statement } from "../../lib/database/database.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeCampaign } from "./complete-campaigns.ts";

const batch_rows = 2_000;
/** Longest run. Without it, a few campaigns of a million recipients would delay every scheduled start. */
const run_ms_max = 5_000;

/** The last recipient of a batch; `due_at` is PostgreSQL's text, precise to the microsecond. */
type Position = { readonly id: number; readonly due_at: string };

const start_position: Position = { id: 0, due_at: "-infinity" };

/**
 * Runs the job voice.drain_campaign: cancels every recipient that is not being called. When it is stopped
 * or `ms_max` has passed, the next run continues.
 */
export async function drainVoiceCampaign(
  app: App,
  { account_id, subject }: Pick<Job, "account_id" | "subject">,
  stopping: AbortSignal,
  ms_max = run_ms_max,
): Promise<{ again_at: Date } | void> {
  const campaign_id = Number(subject);
  const { state } = await app.db.query
    .selectFrom("voice_campaigns")
    .select("state")
    .where("account_id", "=", account_id)
    .where("id", "=", campaign_id)
    .executeTakeFirstOrThrow();
  if (state !== "cancelled" && state !== "failed") return;
  const until_ms = performance.now() + ms_max;
  // In this order, because a recipient moves from synthesizing to waiting and never back.
  for (const cancelNext of [cancelSynthesizing, cancelWaiting]) {
    let last: Position | undefined = start_position;
    while (last) {
      if (stopping.aborted || performance.now() > until_ms) return { again_at: app.clock.now() };
      const { id, due_at }: Position = last;
      const values = [account_id, campaign_id, app.clock.now(), batch_rows, id, due_at];
      [last] = await cancelNext(app.db.pool, values);
    }
  }
  await completeCampaign(app, account_id, campaign_id);
}

// Each batch starts after the previous one, because cancelled rows stay at the front of the index until vacuum.
const cancelSynthesizing = cancelStatement(
  "synthesizing",
  "r.id",
  "r.id > $5 and $6::text is not null",
);
const cancelWaiting = cancelStatement(
  "waiting",
  "r.due_at, r.id",
  "(r.due_at, r.id) > ($6::text::timestamptz, $5)",
);

/** Returns a statement that cancels the next batch and returns its last position; no row if the batch is empty. */
function cancelStatement(state: "synthesizing" | "waiting", order: string, after: string) {
  return statement<Position>(`
    with next as materialized (
      select r.id, r.due_at from voice_recipients r
      where r.account_id = $1 and r.campaign_id = $2 and r.state = '${state}' and ${after}
      order by ${order} limit $4
      for update
    ), cancelled as (
      update voice_recipients r set state = 'cancelled', finished_at = $3
      from next n
      where r.account_id = $1 and r.campaign_id = $2 and r.id = n.id
    ), counted as materialized (
      select count_voice($1, $2, 9, '${state}', 'cancelled', count(*)::int) from next having count(*) > 0
    )
    select r.id, r.due_at::text as due_at from next r, counted
    order by r.due_at desc, r.id desc limit 1`);
}
