// What the switch tells, brought to the call it is about.
import type { VoiceEvent } from "../../drivers/voice/driver.ts";
import { callName, readLegName } from "../life/call.ts";
import { resume } from "../life/step.ts";
import { compareWithSwitch } from "./compare-with-switch.ts";
import type { Leader } from "./leader.ts";
import { noteConnection } from "./leader-statements.ts";
import { performAll } from "./perform.ts";
import { adoptMissing } from "./place-calls.ts";

const retry_ms = 500;

/** Never throws, never waits. */
export function hearSwitch(leader: Leader, event: VoiceEvent): void {
  const { app, node_id } = leader;
  switch (event.type) {
    case "connected":
      return hearConnected(leader, event.epoch);
    case "disconnected":
      if (leader.is_connected) leader.connected = Promise.withResolvers();
      leader.is_connected = false;
      app.log.warn({ subject_id: node_id }, "the connection of a node is lost");
      void noteConnection(app, node_id, null).catch(() => {});
      return;
    case "replaced":
      app.log.error({ subject_id: node_id }, "another process took a node's switch over");
      return leader.wake();
    case "recorded": {
      const live = leader.calls.get(event.recording);
      if (live) leader.tell(live, { type: "recorded", ok: event.ok, at: app.clock.now() });
      return;
    }
    default: {
      const ids = readLegName(event.leg);
      const live = ids && leader.calls.get(callName({ ...ids, id: ids.call_id }));
      if (live) leader.tell(live, { ...event, leg: ids.leg_id });
    }
  }
}

function hearConnected(leader: Leader, epoch: string): void {
  begin(leader, epoch).catch((err: unknown) => {
    leader.app.log.warn({ err }, "what a switch holds could not be compared; trying again");
    // The same answer as the next connection's.
    if (leader.lease.mayAct()) setTimeout(() => hearConnected(leader, epoch), retry_ms).unref();
  });
}

/**
 * What predecessors had under way is taken over before anything is compared, or its legs would be
 * nobody's. Then comes what was missed, what has to be done again, and new calls.
 */
async function begin(leader: Leader, epoch: string): Promise<void> {
  const before = await noteConnection(leader.app, leader.node_id, epoch);
  leader.restarted = before !== null && before !== epoch;
  await adoptMissing(leader);
  await compareWithSwitch(leader);
  leader.restarted = false;
  for (const live of leader.calls.values()) {
    live.turns = live.turns.then(() => performAll(leader, live, resume(live.call)));
  }
  leader.is_connected = true;
  leader.connected.resolve();
  leader.surveyIn(leader.times.survey_ms);
  leader.wake();
}
