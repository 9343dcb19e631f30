import { VoiceError } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { findVoiceNodeOrNull } from "../../telephony/nodes/find-voice-node.ts";
import { callName } from "../state-machine/call.ts";

/** Returns the name of a call's recording on its node; callers' messages have stored names instead. */
export function recordingName(accountId: number, callId: number): string {
  return callName({ account_id: accountId, id: callId });
}

/** After this many refusals and no success the node itself fails, for instance because of its password. */
const refusals_max = 10;

export type Deletion = {
  /** Those that no longer exist: all, if the node was deleted. */
  readonly deleted: string[];
  /** Those that the node refused to delete, although it deletes others. */
  readonly refused: { readonly name: string; readonly reason: string }[];
  /** Why the node could not be asked for the rest. */
  readonly failure: string | null;
};

/**
 * Deletes recordings on their node, one at a time, until the node fails or `stopping` is aborted. A recording that the
 * node refuses to delete keeps no other one. Repeatable.
 */
export async function deleteRecordings(
  app: Pick<App, "db" | "secrets" | "voiceDrivers">,
  nodeId: number,
  names: readonly string[],
  stopping: AbortSignal,
): Promise<Deletion> {
  const node = await findVoiceNodeOrNull(app, nodeId);
  if (!node) return { deleted: [...names], refused: [], failure: null };
  const driver = app.voiceDrivers[node.driver];
  const deleted: string[] = [];
  const refused: { name: string; reason: string }[] = [];
  const endWith = (failure: string | null) => ({ deleted, refused, failure });
  if (!driver) return endWith("this process has no driver for the node");
  for (const name of names) {
    if (stopping.aborted) break;
    try {
      await driver.deleteRecording(node, name);
      deleted.push(name);
    } catch (error) {
      if (!(error instanceof VoiceError)) throw error;
      if (error.failure !== "refused") return endWith(error.message);
      refused.push({ name, reason: error.message });
      if (deleted.length === 0 && refused.length >= refusals_max) return endWith(error.message);
    }
  }
  return endWith(null);
}
