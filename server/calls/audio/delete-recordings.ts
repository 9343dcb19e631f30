import { VoiceError } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { findVoiceNodeOrNull } from "../../telephony/nodes/find-voice-node.ts";
import { callName } from "../state-machine/call.ts";

/** Returns the name of a call's recording on its node; callers' messages have stored names instead. */
export function recordingName(accountId: number, callId: number): string {
  return callName({ account_id: accountId, id: callId });
}

/**
 * Deletes recordings on their node, one at a time, until one fails or `stopping` is aborted. Returns
 * those that no longer exist (all, if the node was deleted) and why deletion failed. Repeatable.
 */
export async function deleteRecordings(
  app: Pick<App, "db" | "secrets" | "voiceDrivers">,
  nodeId: number,
  names: readonly string[],
  stopping: AbortSignal,
): Promise<{ deleted: string[]; failure: string | null }> {
  const node = await findVoiceNodeOrNull(app, nodeId);
  if (!node) return { deleted: [...names], failure: null };
  const driver = app.voiceDrivers[node.driver];
  const deleted: string[] = [];
  if (!driver) return { deleted, failure: "this process has no driver for the node" };
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
