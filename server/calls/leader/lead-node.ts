// The leader of one node, under its lease: it hears the switch, places what is due, and sees to it that
// every call of the node comes to its end.
import type { App } from "../../engine/app.ts";
import type { Lease } from "../../engine/leases.ts";
import { findVoiceNode } from "../find-voice-node.ts";
import { hearSwitch } from "./hear-switch.ts";
import type { Leader, LeaderTimes } from "./leader.ts";
import {
  adoptAll,
  findLimits,
  findTrunkShares,
  noteConnection,
  type NodeLimits,
} from "./leader-statements.ts";
import { openNodeWork, type NodeWork } from "./node-work.ts";
import { openPace } from "./pace.ts";
import { takeUp } from "./place-calls.ts";
import { forget, takeTurn } from "./take-turn.ts";
import { watchCredit } from "./watch-credit.ts";

const retry_ms = 500;

/** How others reach a leader at work. */
export type LeaderHandle = Pick<NodeWork, "hearWork" | "hearCommand" | "hearChange">;

/**
 * Leads until a stop is asked for, the lease is lost, the node is changed, or somebody else took the
 * switch over (`replaced`). Calls under way go on at the switch; the next leader takes them over.
 */
export async function leadNode(
  app: App,
  lease: Lease,
  nodeId: number,
  times: LeaderTimes,
  stopping: AbortSignal,
  onOpen: (handle: LeaderHandle) => void,
): Promise<"replaced" | "over"> {
  const limits = await findLimits(app, nodeId);
  if (!limits) return "over";
  let replaced = false;
  const { leader, work } = await openLeader(app, lease, nodeId, limits, times, () => {
    replaced = true;
  });
  onOpen(work);
  const isOver = () => stopping.aborted || lease.lost.aborted || replaced || work.isChanged();
  try {
    while (!isOver()) {
      try {
        await work.round();
      } catch (err) {
        app.log.warn({ err, subject_id: nodeId }, "a node's turn failed; trying again");
        await work.rest(retry_ms);
      }
    }
  } finally {
    await leave(leader);
  }
  return replaced ? "replaced" : "over";
}

/** Takes over what predecessors had under way, and connects. Nothing is decided before the switch was asked. */
async function openLeader(
  app: App,
  lease: Lease,
  nodeId: number,
  limits: NodeLimits,
  times: LeaderTimes,
  onReplaced: () => void,
): Promise<{ leader: Leader; work: NodeWork }> {
  const node = await findVoiceNode(app.db.query, nodeId);
  const shares = await findTrunkShares(app, nodeId);
  const adopted = await adoptAll(app.db.pool, nodeId, lease.fence);
  const paceOf = (per_second: number) => openPace(per_second, () => performance.now());
  const leader: Leader = {
    app,
    lease,
    node_id: nodeId,
    driver: node.driver,
    // Only nodes of this process's drivers are led.
    session: app.voiceDrivers[node.driver]!.open(node, (event) =>
      hearSwitch(leader, event, () => {
        onReplaced();
        leader.wake();
      }),
    ),
    times,
    calls: new Map(),
    trunks: new Map(shares.map((share) => [share.id, share])),
    pace: paceOf(limits.calls_per_second),
    trunk_paces: new Map(shares.map((share) => [share.id, paceOf(share.calls_per_second)])),
    connected: Promise.withResolvers(),
    is_connected: false,
    restarted: false,
    tell(live, event) {
      live.turns = live.turns
        .then(() => takeTurn(leader, live, event))
        .catch((err: unknown) => {
          const at = { account_id: live.call.account_id, call_id: live.call.id };
          app.log.error({ err, ...at }, "a call's turn failed");
          leader.surveyIn(retry_ms);
        });
    },
    surveyIn: (ms) => work.surveyIn(ms),
    wake: () => work.wake(),
  };
  const work = openNodeWork(leader, limits);
  for (const call of adopted) watchCredit(leader, takeUp(leader, call, true));
  return { leader, work };
}

async function leave(leader: Leader): Promise<void> {
  leader.pace.stop();
  for (const pace of leader.trunk_paces.values()) pace.stop();
  const turns = [...leader.calls.values()].map((live) => live.turns);
  for (const live of leader.calls.values()) forget(leader, live);
  await leader.session.close();
  await Promise.all(turns);
  // Somebody else's connection stands there once the lease is gone.
  if (leader.lease.lost.aborted) return;
  await noteConnection(leader.app, leader.node_id, null).catch(() => {});
}
