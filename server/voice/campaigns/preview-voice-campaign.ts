// A dry run of a launch, which creates nothing: its recipients, cost and schedule.
import type { Kysely } from "kysely";
import type { Caller } from "../../accounts/caller.ts";
import {
  callableFor,
  callableFrom,
  type CallingWindow,
} from "../../accounts/accounts/calling-window.ts";
import type { Rejects } from "../../audience/intake/open-intake.ts";
import type { RecipientSource } from "../../audience/recipients/recipient-source.ts";
import { call_outreach, suppressedAmong } from "../../audience/suppressions/suppressions.ts";
import { availableCredits } from "../../credits/credits.ts";
import type { App } from "../../engine/app.ts";
import type { DB } from "../../lib/database/database.ts";
import { noRecipients } from "./internal/no-recipients.ts";
import { requireTrunk } from "./internal/require-trunk.ts";
import type { VoiceCampaignPreview } from "./voice-campaign-schema.ts";
import { withRecipients, type VoiceCampaignRequest } from "./with-recipients.ts";

/** How many rejected rows are shown. */
const samples_max = 20;

/** Previews a launch by JSON or form. Refuses the same requests as createVoiceCampaign. */
export async function previewVoiceCampaign(
  app: App,
  account: Caller["account"],
  request: VoiceCampaignRequest,
): Promise<VoiceCampaignPreview> {
  const now = app.clock.now();
  const db = app.db.query;
  return withRecipients(app, account, request, now, async (order, recipients) => {
    const { shares } = await requireTrunk(db, account.id, app.random());
    const suppressed = await countSuppressed(app, account.id, recipients, now);
    const summary = recipients.summary();
    const { valid: total, invalid: rejected, duplicate: duplicates, rejects } = summary;
    if (total === 0) throw noRecipients(order.source.send_to, summary);
    const available = await availableCredits(db, account.id, "call");
    const needed = total - suppressed;
    const calls_per_second = shares.reduce((sum, share) => sum + share.calls_per_second, 0);
    const window = await readWindow(db, account.id);
    const starts_at = callableFrom(window, order.scheduled_at ?? now);
    const lasts_ms = Math.ceil((needed / calls_per_second) * 1_000);
    const finishes_at = starts_at && callableFor(window, starts_at, lasts_ms);
    return {
      total,
      rejected,
      duplicates,
      suppressed,
      rejects: samplesOf(rejects),
      credits: { needed, available, sufficient: available >= needed },
      starts_at: starts_at?.toISOString() ?? null,
      finishes_at: finishes_at?.toISOString() ?? null,
      calls_per_second,
    };
  });
}

async function countSuppressed(
  { db }: Pick<App, "db">,
  accountId: number,
  recipients: RecipientSource<unknown>,
  now: Date,
): Promise<number> {
  let suppressed = 0;
  for await (const chunk of recipients.lines(null)) {
    const phones = Buffer.from(chunk).toString("latin1").trimEnd().split("\n");
    suppressed += (await suppressedAmong(db.pool, accountId, call_outreach, phones, now)).size;
  }
  return suppressed;
}

function samplesOf({ rows, values, reasons }: Rejects) {
  return rows
    .slice(0, samples_max)
    .map((row, i) => ({ row, value: values[i]!, reason: reasons[i]! }));
}

function readWindow(db: Kysely<DB>, accountId: number): Promise<CallingWindow> {
  return db
    .selectFrom("accounts")
    .select(["time_zone", "night_calling", "calling_from", "calling_to"])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
}
