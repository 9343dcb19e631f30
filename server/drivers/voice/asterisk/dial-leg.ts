// One outgoing call.
import { VoiceError, type Dial, type Ending, type LegOutcome } from "../driver.ts";
import { ariPath, notDone, type AriAnswer, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";

/**
 * Asks for the call, by way of the context `out` of our dialplan: there an answered leg waits for the
 * service, where one dialled straight into the application is dropped when nobody listens. A leg that
 * lives already is left as it is, and the answer is false. Throws VoiceError.
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
  const answer = await client.call("POST", path, {
    variables: { CALL_ID: dial.call, TRUNKLINE_APP: client.app },
  });
  if (answer.status < 300) return true;
  if (answer.status === 409) return false;
  if (isStarting(answer)) throw new VoiceError("unreachable", "the switch has not started yet");
  // No such endpoint, or a phone that is not registered.
  if (answer.status === 500 && says(answer, "error", "Allocation failed")) {
    throw refused("the switch has no way to it", "unreachable");
  }
  const error = notDone("dialling", answer);
  throw error.failure === "refused" ? refused(error.message, "failed") : error;
}

/** It serves HTTP before it has this interface, and then for a while refuses to do anything. */
function isStarting(answer: AriAnswer): boolean {
  return (
    answer.status === 404 ||
    (answer.status === 503 && says(answer, "message", "Asterisk not booted"))
  );
}

function says({ body }: AriAnswer, field: "error" | "message", text: string): boolean {
  return (body as { error?: unknown; message?: unknown } | null)?.[field] === text;
}

/** What is no number or name could mean anything in a dial string: it is never sent. */
function endpointOf({ to }: Dial): string {
  if (!/^[\w-]{1,64}$/.test(to.endpoint)) throw refused("this is no endpoint's name", "failed");
  return to.kind === "extension"
    ? `PJSIP/${to.endpoint}`
    : `PJSIP/${checkNumber(to.number)}@${to.endpoint}`;
}

function checkNumber(number: string): string {
  if (!/^[0-9+*#]{1,32}$/.test(number)) throw refused("this is no number", "invalid");
  return number;
}

function refused(message: string, outcome: LegOutcome): VoiceError {
  const ending: Ending = { outcome, cause: null, sip_status: null, by: "far_end" };
  return new VoiceError("refused", message, { ending });
}
