// Runs the node leaders of this process; a lease gives each node one leader in all processes.
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
import { openLastWords } from "./node/open-last-words.ts";

export type { LeaderTimes } from "./node/leader.ts";

/** The account of the nodes' leases: nodes belong to the installation, not to an account. */
const operator_account_id = 0;

export type NodeLeaders = LeasedWorkers<LeaderHandle>;

const without_leader = `
  not exists (
    select from leases l
    where l.account_id = ${operator_account_id} and l.name = 'voice_node:' || n.id
      and l.holder is not null and l.expires_at > clock_timestamp())`;

// An inactive node keeps a leader until its calls have ended.
const live_calls_of_inactive = `
  from calls c join voice_nodes n on n.id = c.node_id
  where not n.active and c.stage not in ('queued', 'ended')`;

// A CTE, because Citus refuses a subquery of calls for each row of a reference table.
const findNodes = statement<Candidate>(`
  with draining as materialized (select distinct c.node_id ${live_calls_of_inactive})
  select ${operator_account_id} as account_id, n.id from voice_nodes n
  where (n.active or n.id in (select d.node_id from draining d)) and n.driver = any ($1) and ${without_leader}
  order by n.id limit 100`);

/**
 * When node leaders have work: see poll-work.ts. Live calls of an inactive node count even if it has a leader; an
 * iteration then finds no node.
 */
export const due_nodes = [
  `from voice_nodes n where n.active and ${without_leader} order by n.id`,
  `${live_calls_of_inactive} order by n.id`,
];

/** Opens the node leaders of this process; after a stop, live calls continue at the switch. */
export function openNodeLeaders(
  app: App,
  times: LeaderTimes,
  leases: LeaseTimes = lease_times,
): NodeLeaders {
  const lastWords = openLastWords();
  const leaders = openLeasedWorkers<LeaderHandle>(app, {
    role: "voice_node",
    times: leases,
    findDue: () => findNodes(app.db.pool, [Object.keys(app.voiceDrivers)]),
    async work(lease, node_id, { stopping, onOpen }) {
      const outcome = await leadNode(app, { lease, node_id, times, lastWords, stopping }, onOpen);
      if (outcome !== "replaced") return;
      // Waits as long as a lease before it reconnects, because that would disconnect the other process.
      const signal = AbortSignal.any([stopping, lease.lost]);
      await delay(leases.lease_ms, null, { signal }).catch(() => {});
    },
  });
  const handlesOf = (nodeId?: number) => leaders.handlesOf(operator_account_id, nodeId);
  app.notifications.on("call_work", (subject) => {
    const [nodeId, accountId, trunkId = null] = subject.split(":").map(Number);
    for (const handle of handlesOf(nodeId)) {
      // Account 0: the node itself was changed.
      if (accountId) handle.notifyWork(accountId, trunkId);
      else handle.notifyChange();
    }
  });
  // The subject is a trunk, and any of its nodes may have a free slot.
  app.notifications.on("voice_work", () => {
    for (const handle of handlesOf()) handle.notifyCampaigns();
  });
  app.notifications.on("call_command", (subject) => {
    for (const handle of handlesOf(Number(subject))) handle.notifyCommand();
  });
  return {
    ...leaders,
    async stop() {
      await leaders.stop();
      // The leases are released: other processes do not wait for this.
      await lastWords.close();
    },
  };
}
