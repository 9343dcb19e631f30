// Leads the nodes that calls are placed on: one leased leader each, in whichever process gets it.
import { setTimeout as delay } from "node:timers/promises";
import type { App } from "../../engine/app.ts";
import {
  openLeasedWorkers,
  type Candidate,
  type LeasedWorkers,
} from "../../engine/leased-workers.ts";
import { lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { statement } from "../../lib/database/database.ts";
import type { LeaderTimes } from "./node/leader.ts";
import { leadNode, type LeaderHandle } from "./node/lead-node.ts";

export type { LeaderTimes } from "./node/leader.ts";

/** Nodes serve the whole installation: their leases are nobody's. */
const operator_account_id = 0;

export type NodeLeaders = LeasedWorkers<LeaderHandle>;

// A node that was switched off is led to the end of its calls.
const findNodes = statement<Candidate>(`
  select ${operator_account_id} as account_id, n.id from voice_nodes n
  where n.driver = any ($1)
    and (n.active or exists (
      select from calls c where c.node_id = n.id and c.stage not in ('queued', 'ended')))
    and not exists (
      select from leases l
      where l.account_id = ${operator_account_id} and l.name = 'voice_node:' || n.id
        and l.holder is not null and l.expires_at > clock_timestamp())
  order by n.id limit 100`);

/** Opens the leaders of this process; after a stop, calls under way go on at the switch. */
export function openNodeLeaders(
  app: App,
  times: LeaderTimes,
  leases: LeaseTimes = lease_times,
): NodeLeaders {
  const leaders = openLeasedWorkers<LeaderHandle>(app, {
    role: "voice_node",
    times: leases,
    findDue: () => findNodes(app.db.pool, [Object.keys(app.voiceDrivers)]),
    async work(lease, node_id, { stopping, onOpen }) {
      const outcome = await leadNode(app, { lease, node_id, times, stopping }, onOpen);
      if (outcome !== "replaced") return;
      // Whoever took the switch over would be silenced in turn: it has as long as a lease.
      const signal = AbortSignal.any([stopping, lease.lost]);
      await delay(leases.lease_ms, null, { signal }).catch(() => {});
    },
  });
  const handlesOf = (nodeId?: number) => leaders.handlesOf(operator_account_id, nodeId);
  app.notifications.on("call_work", (subject) => {
    const [nodeId, accountId] = subject.split(":").map(Number);
    for (const handle of handlesOf(nodeId)) {
      // Account 0: the node itself was changed.
      if (accountId) handle.hearWork(accountId);
      else handle.hearChange();
    }
  });
  // Of a trunk: any of its nodes may have room.
  app.notifications.on("voice_work", () => {
    for (const handle of handlesOf()) handle.hearCampaigns();
  });
  app.notifications.on("call_command", (subject) => {
    for (const handle of handlesOf(Number(subject))) handle.hearCommand();
  });
  return leaders;
}
