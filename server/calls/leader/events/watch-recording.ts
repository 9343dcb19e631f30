// Ends the wait of a call for its recording, because the event of its completion may have been missed.
import { findVoiceNode } from "../../../telephony/nodes/find-voice-node.ts";
import { callName, type Call } from "../../state-machine/call.ts";
import { liveLegs } from "../../state-machine/legs.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** Starts a timer, unless one runs, that looks for the recording of a call without live legs at the switch. */
export function watchRecording(leader: Leader, live: LiveCall): void {
  const { call } = live;
  const isWaiting =
    call.stage === "ending" && call.recording_state === "recording" && liveLegs(call).length === 0;
  if (!isWaiting || live.ending_timer) return;
  live.ending_timer = setTimeout(() => {
    void isRecorded(leader, call).then((ok) =>
      leader.dispatch(live, { type: "recorded", ok, at: leader.app.clock.now() }),
    );
  }, leader.times.recording_ms);
}

/** Whether the switch has the whole recording: if it was lost under a leg, the file is incomplete. */
async function isRecorded({ app, driver, node_id }: Leader, call: Call): Promise<boolean> {
  if (call.legs.some(({ outcome }) => outcome === "lost")) return false;
  try {
    const node = await findVoiceNode(app, node_id);
    const file = await app.voiceDrivers[driver]!.readRecording(node, callName(call));
    // Closing the stream early makes it fail.
    file?.once("error", () => {}).destroy();
    return file !== null;
  } catch (err) {
    app.log.warn({ err }, "could not check whether a call recording exists");
    return false;
  }
}
