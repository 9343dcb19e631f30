import type { Readable } from "node:stream";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { callName } from "../state-machine/call.ts";
import { findRecordedCall, noRecording, openRecording } from "./internal/open-recording.ts";

/**
 * Opens a call's recording as a WAV file from its node, after it has recorded the access in the audit
 * trail, which it does once for all parts. Refuses: not-found; rate-limited and unavailable as openRecording does.
 */
export async function readCallRecording(
  app: App,
  actor: Actor,
  { id, in_parts }: { readonly id: number; readonly in_parts: boolean },
): Promise<Readable> {
  const call = await findRecordedCall(app, actor.account_id, id);
  if (call.recording_state !== "ready") throw noRecording();
  const name = callName({ account_id: actor.account_id, id });
  return openRecording(app, actor, call, { name, detail: {}, in_parts });
}
