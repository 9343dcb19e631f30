// Ends campaigns without pending recipients, by their counts and never because a batch was empty.
import { sql } from "kysely";
import { closeReservation } from "../../credits/close-reservation.ts";
import type { App } from "../../engine/app.ts";
import { recordEvent } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";

type FinalCounts = Record<"sent_count" | "delivered_count" | "read_count" | "failed_count", number>;

/**
 * Ends the given campaigns whose recipients are all in a final state: running becomes completed;
 * cancelled and failed stay. Throws unless their reservation is used up. Returns how many ended.
 */
export async function completeCampaigns(
  app: App,
  accountId: number,
  campaignIds: readonly number[],
): Promise<number> {
  const now = app.clock.now();
  return app.db.query.transaction().execute(async (tx) => {
    const ended = await tx
      .updateTable("chat_campaigns as c")
      .set({
        finished_at: now,
        state: sql<string>`case when c.state = 'running' then 'completed' else c.state end`,
      })
      .where("c.account_id", "=", accountId)
      .where("c.id", "in", [...new Set(campaignIds)])
      .where("c.finished_at", "is", null)
      .where("c.state", "in", ["running", "cancelled", "failed"])
      .where(
        sql<boolean>`(select sum(n.queued + n.deferred + n.dispatching + n.unknown) from chat_counts n
          where n.account_id = ${accountId} and n.campaign_id = c.id) = 0`,
      )
      .returning(["c.id", "c.name", "c.state", "c.total", "c.reservation_id"])
      .execute();
    for (const { id, name, state, total, reservation_id } of ended) {
      await closeReservation(tx, accountId, reservation_id, now);
      if (state !== "completed") continue;
      await recordEvent(tx, {
        account_id: accountId,
        type: "chat.campaign.completed",
        occurred_at: now,
        data: {
          campaign_id: id,
          name,
          total_contacts: total,
          ...(await finalCounts(tx, accountId, id)),
        },
      });
    }
    return ended.length;
  });
}

async function finalCounts(tx: Tx, accountId: number, campaignId: number): Promise<FinalCounts> {
  const { rows } = await sql<FinalCounts>`
    select sum(n.accepted + n.sent + n.delivered + n.read)::bigint as sent_count,
      sum(n.delivered + n.read)::bigint as delivered_count, sum(n.read)::bigint as read_count,
      sum(n.refused + n.unresolved + n.undelivered + n.skipped + n.cancelled)::bigint as failed_count
    from chat_counts n where n.account_id = ${accountId} and n.campaign_id = ${campaignId}`.execute(
    tx,
  );
  return rows[0]!;
}
