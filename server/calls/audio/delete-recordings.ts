import { VoiceError } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { findNodeIfKept } from "../../telephony/nodes/find-voice-node.ts";
import { callName } from "../state-machine/call.ts";

/** The name that the recording of a call has at its node; a message that a caller left is stored with its own. */
export function recordingName(accountId: number, callId: number): string {
  return callName({ account_id: accountId, id: callId });
}

/**
 * Deletes recordings at the node that made them, one after the other, until one fails, or `stopping`;
 * returns those that are certainly gone, as are all of a node that was deleted, and why the node did not
 * do the rest. May be repeated.
 */
export async function deleteRecordings(
  app: Pick<App, "db" | "voiceDrivers">,
  nodeId: number,
  names: readonly string[],
  stopping: AbortSignal,
): Promise<{ deleted: string[]; failure: string | null }> {
  const node = await findNodeIfKept(app.db.query, nodeId);
  if (!node) return { deleted: [...names], failure: null };
  const driver = app.voiceDrivers[node.driver];
  const deleted: string[] = [];
  if (!driver) return { deleted, failure: "there is no driver for it here" };
  for (const name of names) {
    if (stopping.aborted) break;
    try {
      await driver.deleteRecording(node, name);
    } catch (error) {
      if (!(error instanceof VoiceError)) throw error;
      return { deleted, failure: error.message };
    }
    deleted.push(name);
  }
  return { deleted, failure: null };
}
