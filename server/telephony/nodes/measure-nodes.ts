import type { App } from "../../engine/app.ts";
import { statement } from "../../lib/database/database.ts";
import type { Metrics } from "../../lib/metrics.ts";

const readNodes = statement<{
  node: string;
  connected: boolean;
  live: number;
  waiting: number;
  waited_seconds: number;
}>(`
  select n.id::text as node, n.connected_at is not null as connected,
    (select count(*) from calls c
      where c.node_id = n.id and c.stage not in ('queued', 'ended'))::int as live,
    w.waiting, w.waited_seconds
  from voice_nodes n
  cross join lateral (
    select count(*)::int as waiting,
      coalesce(extract(epoch from $1 - min(c.due_at)), 0)::float8 as waited_seconds
    from calls c where c.node_id = n.id and c.stage = 'queued' and c.due_at <= $1) w
  where n.active`);

/**
 * Sets the gauges of the active nodes from the database, to the same values in every process. Clears
 * them, and does not fail, while the database is unavailable.
 */
export async function measureNodes(
  { db, clock, log }: Pick<App, "db" | "clock" | "log">,
  { nodesConnected, callsLive, callsWaiting, callsWaitedSeconds }: Metrics,
): Promise<void> {
  const gauges = [nodesConnected, callsLive, callsWaiting, callsWaitedSeconds];
  try {
    const nodes = await readNodes(db.pool, [clock.now()]);
    for (const gauge of gauges) gauge.reset();
    for (const { node, connected, live, waiting, waited_seconds } of nodes) {
      nodesConnected.set({ node }, connected ? 1 : 0);
      callsLive.set({ node }, live);
      callsWaiting.set({ node }, waiting);
      callsWaitedSeconds.set({ node }, waited_seconds);
    }
  } catch (err) {
    for (const gauge of gauges) gauge.reset();
    log.warn({ err }, "could not measure the voice nodes");
  }
}
