import { VoiceError } from "../../../drivers/voice/driver.ts";
import { callName } from "../../state-machine/call.ts";
import type { Leader, LiveCall } from "../node/leader.ts";

/** Starts recording the call's bridge. If the switch refuses, the recording has failed. Throws VoiceError. */
export async function recordCall(leader: Leader, live: LiveCall): Promise<void> {
  try {
    await leader.session.record(callName(live.call), callName(live.call));
  } catch (error) {
    // After any other failure the recording may be running, or begins late.
    if (error instanceof VoiceError && error.failure === "refused")
      leader.dispatch(live, { type: "recorded", ok: false, at: leader.app.clock.now() });
    throw error;
  }
}
