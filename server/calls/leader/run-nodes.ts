// Leads the nodes that calls are placed on: one leased leader each, in whichever process gets it.
import { setTimeout as delay } from "node:timers/promises";
import type { App } from "../../engine/app.ts";
import { acquireLease, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { statement } from "../../lib/database/database.ts";
import type { LeaderTimes } from "./leader.ts";
import { leadNode, type LeaderHandle } from "./lead-node.ts";

export type { LeaderTimes } from "./leader.ts";

/** Nodes serve the whole installation: their leases are nobody's. */
const operator_account_id = 0;

export type NodeLeaders = {
  /** A turn: begins to lead each node that nobody leads. Never waits for one. */
  startDue(): Promise<number>;
  /** Ends leading; calls under way go on, and the leases are given back. */
  stop(): Promise<void>;
};

// A node that was switched off is led to the end of its calls.
const findNodes = statement<{ id: number }>(`
  select n.id from voice_nodes n
  where n.driver = any ($1)
    and (n.active or exists (
      select from calls c where c.node_id = n.id and c.stage not in ('queued', 'ended')))
    and not exists (
      select from leases l
      where l.account_id = ${operator_account_id} and l.name = 'voice_node:' || n.id
        and l.holder is not null and l.expires_at > clock_timestamp())
  order by n.id limit 100`);

export function openNodeLeaders(
  app: App,
  times: LeaderTimes,
  leases: LeaseTimes = lease_times,
): NodeLeaders {
  const stopping = new AbortController();
  const running = new Map<number, { done: Promise<void>; handle: LeaderHandle | null }>();

  app.notifications.on("call_work", (subject) => {
    const [nodeId, accountId] = subject.split(":").map(Number);
    const handle = running.get(nodeId!)?.handle;
    // Account 0: the node itself was changed.
    if (accountId) handle?.hearWork(accountId);
    else handle?.hearChange();
  });
  // Of a trunk: any of its nodes may have room.
  app.notifications.on("voice_work", () => {
    for (const { handle } of running.values()) handle?.hearCampaigns();
  });
  app.notifications.on("call_command", (subject) =>
    running.get(Number(subject))?.handle?.hearCommand(),
  );

  const lead = async (nodeId: number): Promise<void> => {
    const lease = await acquireLease(app, operator_account_id, `voice_node:${nodeId}`, leases);
    if (!lease) return;
    let outcome: "replaced" | "over" = "over";
    try {
      const leading = { lease, node_id: nodeId, times, stopping: stopping.signal };
      outcome = await leadNode(app, leading, (handle) => {
        running.get(nodeId)!.handle = handle;
      });
    } finally {
      // Whoever took the switch over would be silenced in turn: it has as long as a lease.
      const resting = { signal: AbortSignal.any([stopping.signal, lease.lost]) };
      if (outcome === "replaced") await delay(leases.lease_ms, null, resting).catch(() => {});
      await lease.release();
    }
  };

  return {
    async startDue() {
      for (const { id } of await findNodes(app.db.pool, [Object.keys(app.voiceDrivers)])) {
        if (stopping.signal.aborted || running.has(id)) continue;
        const entry = { done: Promise.resolve(), handle: null as LeaderHandle | null };
        running.set(id, entry);
        entry.done = lead(id)
          .catch((err: unknown) => app.log.error({ err, subject_id: id }, "a node is not led"))
          .finally(() => running.delete(id));
      }
      // The leaders work by themselves: there is nothing to go on with here.
      return 0;
    },
    async stop() {
      stopping.abort();
      for (const { handle } of running.values()) handle?.hearCommand();
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
