import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { lockReplayedEndpoint } from "./internal/lock-replayed-endpoint.ts";

/**
 * Replays a delivery under the same webhook-id; the caller sends the notification `callback_work` after the
 * commit. A finished delivery starts again with all its attempts; a pending one is due now. Refuses:
 * not-found; conflict when its endpoint is disabled.
 */
export async function replayDelivery(tx: Tx, actor: Actor, id: number, now: Date): Promise<void> {
  const { account_id } = actor;
  const delivery = await tx
    .selectFrom("callback_deliveries as d")
    // An event that retention has deleted cannot be replayed.
    .innerJoin("events as e", (join) =>
      join.onRef("e.account_id", "=", "d.account_id").onRef("e.id", "=", "d.event_id"),
    )
    .select("d.endpoint_id")
    .where("d.account_id", "=", account_id)
    .where("d.id", "=", id)
    .executeTakeFirst();
  if (!delivery) throw notFound();
  await lockReplayedEndpoint(tx, account_id, delivery.endpoint_id);
  await sql`
    update callback_deliveries d set state = 'pending', finished_at = null,
      attempts = case when d.state = 'pending' then d.attempts else 0 end,
      due_at = case when d.state = 'pending' then least(d.due_at, ${now}) else ${now} end
    where d.account_id = ${account_id} and d.id = ${id}`.execute(tx);
  await sql`
    update callback_endpoints c set work_at = least(c.work_at, ${now})
    where c.account_id = ${account_id} and c.id = ${delivery.endpoint_id}`.execute(tx);
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_delivery.replayed",
    subject_id: id,
    detail: { endpoint_id: delivery.endpoint_id },
  });
}
