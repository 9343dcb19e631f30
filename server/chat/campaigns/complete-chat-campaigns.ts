// Ends campaigns without pending recipients, by their counts and never because a batch was empty.
import { sql } from "kysely";
import { closeReservation } from "../../credits/close-reservation.ts";
import type { App } from "../../engine/app.ts";
import { recordEvent } from "../../engine/record-event.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { deleteHoldsOfCampaigns } from "../holds/holds.ts";

type FinalCounts = Record<"sent_count" | "delivered_count" | "read_count" | "failed_count", number>;

/**
 * Ends the given campaigns whose recipients are all in a final state: running becomes completed;
 * cancelled and failed stay. Deletes their holds. Throws unless their reservation is used up. Returns how many ended.
 */
export async function completeChatCampaigns(
  app: App,
  accountId: number,
  campaignIds: readonly number[],
): Promise<number> {
  const now = app.clock.now();
  return app.db.query.transaction().execute(async (tx) => {
    const locked = await lockDone(tx, [accountId, campaignIds]);
    if (locked.length === 0) return 0;
    const ended = await endDone(tx, [accountId, locked.map(({ id }) => id), now]);
    await deleteHoldsOfCampaigns(
      tx,
      accountId,
      ended.map(({ id }) => id),
    );
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

type Ended = {
  readonly id: number;
  readonly name: string;
  readonly state: string;
  readonly total: number;
  readonly reservation_id: number;
};

const done = `c.account_id = $1 and c.id = any ($2::bigint[])
  and c.finished_at is null and c.state in ('running', 'cancelled', 'failed')
  and (select sum(n.queued + n.deferred + n.dispatching + n.unknown) from chat_counts n
    where n.account_id = $1 and n.campaign_id = c.id) = 0`;

// A statement that waits for the lock counts recipients as of before: it does not see those that a retry or a reported
// failure has queued meanwhile.
const lockDone = statement<{ id: number }>(
  `select c.id from chat_campaigns c where ${done} order by c.id for no key update`,
);

const endDone = statement<Ended>(`
  update chat_campaigns c set finished_at = $3,
    state = case when c.state = 'running' then 'completed' else c.state end
  where ${done}
  returning c.id, c.name, c.state, c.total, c.reservation_id`);

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
