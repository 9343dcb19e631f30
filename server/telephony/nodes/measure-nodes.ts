import type { App } from "../../engine/app.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement } from "../../lib/database/database.ts";
import type { Metrics } from "../../lib/metrics.ts";

const readNodes = statement<{ node: string; connected: boolean }>(`
  select n.id::text as node, n.connected_at is not null as connected from voice_nodes n where n.active`);

/** Reads the calls of all nodes that are live, and those that could begin: not those of frozen accounts. */
const readCalls = statement<{
  node: string;
  live: number;
  waiting: number;
  waited_seconds: number;
}>(`
  select c.node_id::text as node, count(*)::int as live, 0 as waiting, 0::float8 as waited_seconds
  from calls c where c.stage not in ('queued', 'ended') group by c.node_id
  union all
  select c.node_id::text, 0, count(*)::int, extract(epoch from $1 - min(c.due_at))::float8
  from calls c where c.stage = 'queued' and c.due_at <= $1
    and ${isUnfrozen("c")}
  group by c.node_id`);

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
    const nodes = await readNodes(db.pool, []);
    const calls = await readCalls(db.pool, [clock.now()]);
    for (const gauge of gauges) gauge.reset();
    for (const { node, connected } of nodes) {
      nodesConnected.set({ node }, connected ? 1 : 0);
      for (const gauge of [callsLive, callsWaiting, callsWaitedSeconds]) gauge.set({ node }, 0);
      for (const { live, waiting, waited_seconds } of calls.filter((one) => one.node === node)) {
        callsLive.inc({ node }, live);
        callsWaiting.inc({ node }, waiting);
        callsWaitedSeconds.inc({ node }, waited_seconds);
      }
    }
  } catch (err) {
    for (const gauge of gauges) gauge.reset();
    log.warn({ err }, "could not measure the voice nodes");
  }
}
