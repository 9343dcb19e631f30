// Handles the switch's events: dispatches each to its call, and follows the connection.
import type { VoiceEvent } from "../../../drivers/voice/driver.ts";
import { callName, callOfMessage, readLegName } from "../../state-machine/call.ts";
import { reconcileCalls } from "./reconcile-calls.ts";
import type { Leader } from "./leader.ts";
import { findLastSeen, recordConnection, recordDisconnection } from "./leader-statements.ts";
import { adoptOrphanedCalls } from "../dialer/place-calls.ts";
import { resumeCall } from "../events/handle-event.ts";
import { handleIncomingCall } from "../events/handle-incoming-call.ts";

const retry_ms = 500;

/** Handles one event of the switch; never throws, never waits. */
export function handleSwitchEvent(leader: Leader, event: VoiceEvent): void {
  const { app, node_id } = leader;
  switch (event.type) {
    case "connected":
      return handleConnected(leader, event.epoch);
    case "disconnected":
      if (leader.is_connected) leader.connected = Promise.withResolvers();
      leader.last_seen_at ??= event.seen_at;
      leader.disconnected_since_ms ??= performance.now();
      leader.is_connected = false;
      leader.connection += 1;
      app.log.warn({ subject_id: node_id }, "lost the connection to a node's switch");
      void recordDisconnection(app, leader.lease, node_id, leader.last_seen_at).catch(() => {});
      return;
    case "replaced":
      app.log.error({ subject_id: node_id }, "another process has taken over a node's switch");
      return leader.wake();
    case "recorded": {
      const { recording, ok } = event;
      const at = app.clock.now();
      const of_message = callOfMessage(recording);
      const live = leader.calls.get(of_message ?? recording);
      if (live)
        leader.dispatch(
          live,
          of_message ? { type: "message", recording, ok, at } : { type: "recorded", ok, at },
        );
      return;
    }
    case "incoming":
      return void handleIncomingCall(leader, event);
    default: {
      const ids = readLegName(event.leg);
      const live = ids && leader.calls.get(callName({ ...ids, id: ids.call_id }));
      if (live) leader.dispatch(live, { ...event, leg: ids.leg_id });
    }
  }
}

function handleConnected(leader: Leader, epoch: string): void {
  leader.connection += 1;
  const { connection } = leader;
  const isOver = () => leader.connection !== connection || !leader.lease.mayProceed();
  const retry = () => {
    if (!isOver()) handleConnected(leader, epoch);
  };
  startConnection(leader, epoch, isOver).catch((err: unknown) => {
    leader.app.log.warn({ err }, "could not reconcile calls with the switch; retrying");
    setTimeout(retry, retry_ms).unref();
  });
}

/**
 * Adopts the calls of previous node leaders, so that reconciliation does not hang up their legs as orphans.
 * Then reconciles, resumes every call, and allows new calls.
 */
async function startConnection(
  leader: Leader,
  epoch: string,
  isOver: () => boolean,
): Promise<void> {
  const { app, lease, node_id, calls } = leader;
  const before = await findLastSeen(app, node_id);
  leader.last_seen_at ??= before.last_seen_at;
  leader.restarted = before.epoch !== null && before.epoch !== epoch;
  await adoptOrphanedCalls(leader);
  await reconcileCalls(leader);
  // Recorded only once the effects of a restart are stored, so that the next node leader sees it otherwise.
  await Promise.all([...calls.values()].map(({ pending }) => pending));
  if (isOver()) return;
  await recordConnection(app, lease, node_id, epoch);
  if (isOver()) return;
  leader.restarted = false;
  leader.last_seen_at = null;
  leader.disconnected_since_ms = null;
  leader.is_recorded_lost = false;
  for (const live of calls.values()) resumeCall(leader, live);
  leader.is_connected = true;
  app.log.info({ subject_id: node_id }, "connected to a node's switch");
  leader.connected.resolve();
  leader.reconcileIn(leader.times.reconcile_ms);
  leader.wake();
}
