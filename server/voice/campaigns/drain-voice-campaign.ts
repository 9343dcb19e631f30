// Takes back whom a cancelled or failed campaign has not called, in batches; calls under way end by
// themselves, and none of their recipients waits again.
import { statement } from "../../lib/database/database.ts";
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { completeCampaign } from "./complete-campaigns.ts";

const batch_rows = 2_000;
/** Then others' jobs have their turn: a few campaigns of a million would keep every scheduled start waiting. */
const run_ms_max = 5_000;

/** The last of a batch; its time as PostgreSQL writes it, to the microsecond. */
type Place = { readonly id: number; readonly due_at: string };

const the_start: Place = { id: 0, due_at: "-infinity" };

/**
 * The job voice.wind_down: every recipient that is not being called becomes cancelled. Stopped on the
 * way, or after `ms_max`, it goes on with its next run.
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
  // In this order: a script that is being spoken just now makes its recipient wait, never the reverse.
  for (const cancelNext of [cancelUnspoken, cancelWaiting]) {
    let last: Place | undefined = the_start;
    while (last) {
      if (stopping.aborted || performance.now() > until_ms) return { again_at: app.clock.now() };
      const { id, due_at }: Place = last;
      const values = [account_id, campaign_id, app.clock.now(), batch_rows, id, due_at];
      [last] = await cancelNext(app.db.pool, values);
    }
  }
  await completeCampaign(app, account_id, campaign_id);
}

// Each behind the one before it: what was taken back still stands at the front of the index for a while.
const cancelUnspoken = cancelStatement(
  "synthesizing",
  "r.id",
  "r.id > $5 and $6::text is not null",
);
const cancelWaiting = cancelStatement(
  "waiting",
  "r.due_at, r.id",
  "(r.due_at, r.id) > ($6::text::timestamptz, $5)",
);

/** Takes the next back and returns where they ended; nothing when there were none. */
function cancelStatement(state: "synthesizing" | "waiting", order: string, after: string) {
  return statement<Place>(`
    with next as materialized (
      select r.id, r.due_at from voice_recipients r
      where r.account_id = $1 and r.campaign_id = $2 and r.state = '${state}' and ${after}
      order by ${order} limit $4
      for update
    ), gone as (
      update voice_recipients r set state = 'cancelled', finished_at = $3
      from next n
      where r.account_id = $1 and r.campaign_id = $2 and r.id = n.id
    ), counted as materialized (
      select count_voice($1, $2, 9, '${state}', 'cancelled', count(*)::int) from next having count(*) > 0
    )
    select r.id, r.due_at::text as due_at from next r, counted
    order by r.due_at desc, r.id desc limit 1`);
}
