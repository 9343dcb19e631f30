// Originates a leg.
import { checkNumber } from "../check-number.ts";
import { VoiceError, type Dial, type Ending, type LegOutcome } from "../driver.ts";
import { ariPath, bodyHas, responseError, type AriResponse, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";

/**
 * Originates the leg into the dialplan context `out`, where an answered leg waits for a session; a leg dialed
 * directly into the application is dropped when no session is connected. Returns false, without effect,
 * when the leg is already live. Throws VoiceError.
 */
export async function dialLeg(client: AriClient, dial: Dial): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, dial.leg)], {
    endpoint: endpointOf(dial),
    context: "out",
    extension: "s",
    priority: "1",
    callerId: checkNumber(dial.caller_id),
    timeout: String(dial.ring_seconds),
  });
  const response = await client.call("POST", path, {
    variables: { CALL_ID: dial.call, TRUNKLINE_APP: client.app },
  });
  if (response.status < 300) return true;
  if (response.status === 409) return false;
  if (isStarting(response)) throw new VoiceError("unreachable", "the switch has not started yet");
  // The endpoint does not exist, or the phone is not registered.
  if (response.status === 500 && bodyHas(response, "error", "Allocation failed")) {
    throw refused("the switch cannot reach the endpoint", "unreachable");
  }
  const error = responseError("dialing", response);
  throw error.failure === "refused" ? refused(error.message, "failed") : error;
}

/** Asterisk serves HTTP before ARI is available, and ARI rejects requests until startup has finished. */
function isStarting(response: AriResponse): boolean {
  return (
    response.status === 404 ||
    (response.status === 503 && bodyHas(response, "message", "Asterisk not booted"))
  );
}

/** Builds the dial string. Rejects other characters, which could have a meaning in it. */
function endpointOf({ to }: Dial): string {
  if (!/^[\w-]{1,64}$/.test(to.endpoint))
    throw refused("the SIP endpoint must be 1-64 letters, digits, _ or -", "failed");
  return to.kind === "extension"
    ? `PJSIP/${to.endpoint}`
    : `PJSIP/${checkNumber(to.number)}@${to.endpoint}`;
}

function refused(message: string, outcome: LegOutcome): VoiceError {
  const ending: Ending = { outcome, cause: null, sip_status: null, by: "far_end" };
  return new VoiceError("refused", message, { ending });
}
