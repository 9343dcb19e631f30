// Finishes the remaining recipients of a cancelled or failed campaign, in batches. Calls in progress
// continue to their end, and their recipients are not called again.
import { statement } from "../../lib/database/database.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeVoiceCampaign } from "./complete-voice-campaigns.ts";
import { countMovedRecipients } from "./count-moved-recipients.ts";

const batch_rows = 2_000;
/** Longest run. Without it, a few campaigns of a million recipients would delay every scheduled start. */
const run_ms_max = 5_000;

/** The last recipient of a batch; `due_at` is PostgreSQL's text, precise to the microsecond. */
type Position = {
  readonly id: number;
  readonly due_at: string;
  readonly time_zones: string;
  readonly priority: number;
};

const start_position: Position = { id: 0, due_at: "-infinity", time_zones: "", priority: -1 };

/**
 * Runs the job voice.drain_campaign: every recipient that is not being called gets the result of the last attempt,
 * or is cancelled if there was none. When it is stopped or `ms_max` has passed, the next run continues.
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
  for (const from of ["synthesizing", "waiting"] as const) {
    let last: Position | undefined = start_position;
    while (last) {
      if (stopping.aborted || performance.now() > until_ms) return { again_at: app.clock.now() };
      last = await finishBatch(app, { account_id, id: campaign_id }, from, last);
    }
  }
  await completeVoiceCampaign(app, account_id, campaign_id);
}

/** Finishes and counts the next batch; returns its last position, or undefined if it is empty. */
async function finishBatch(
  app: App,
  campaign: { readonly account_id: number; readonly id: number },
  from: keyof typeof finishNext,
  after: Position,
): Promise<Position | undefined> {
  const { account_id, id } = campaign;
  const { due_at, time_zones, priority } = after;
  const position = from === "waiting" ? [after.id, due_at, time_zones, priority] : [after.id];
  const values = [account_id, id, app.clock.now(), batch_rows, ...position];
  return app.db.query.transaction().execute(async (tx) => {
    const [last] = await finishNext[from](tx, values);
    for (const [to, count] of Object.entries(last?.counts ?? {}))
      await countMovedRecipients(tx, campaign, { from, to, count });
    return last;
  });
}

// Each batch starts after the previous one, because finished rows stay at the front of the index until vacuum. In the order
// of voice_recipients_due: in another, each batch of 300,000 sorted all that were left (2 s instead of 10 ms).
const finishNext = {
  synthesizing: finishStatement("synthesizing", ["r.id"], "r.id > $5"),
  waiting: finishStatement(
    "waiting",
    ["r.time_zones", "r.priority", "r.due_at", "r.id"],
    "(r.time_zones, r.priority, r.due_at, r.id) > ($7, $8, $6::text::timestamptz, $5)",
  ),
};

/**
 * Returns a statement that finishes the next batch and returns its last position and its size by state; no row if
 * it is empty.
 */
function finishStatement(
  state: "synthesizing" | "waiting",
  order: readonly string[],
  after: string,
) {
  return statement<Position & { readonly counts: Readonly<Record<string, number>> }>(`
    with next as materialized (
      select r.id, r.due_at, r.time_zones, r.priority, coalesce(r.last_result, 'cancelled') as result
      from voice_recipients r
      where r.account_id = $1 and r.campaign_id = $2 and r.state = '${state}' and ${after}
      order by ${order.join(", ")} limit $4
      for update
    ), finished as (
      update voice_recipients r set state = coalesce(r.last_result, 'cancelled'), finished_at = $3
      where r.account_id = $1 and r.campaign_id = $2
        -- As a join with the batch, it read the whole campaign.
        and r.id = any (array(select n.id from next n))
    )
    select r.id, r.due_at::text as due_at, r.time_zones, r.priority, (
      select jsonb_object_agg(s.result, s.n)
      from (select n.result, count(*) as n from next n group by n.result) s) as counts
    from next r
    order by ${order.map((column) => `${column} desc`).join(", ")} limit 1`);
}
