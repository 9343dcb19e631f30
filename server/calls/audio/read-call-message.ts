import type { Readable } from "node:stream";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { findRecordedCall, noRecording, openRecording } from "./internal/open-recording.ts";

/**
 * Opens a caller's nth message (from 1) as a WAV file from its node, after it has recorded the access
 * in the audit trail, which it does once for all parts. Refuses: not-found; rate-limited and unavailable as
 * openRecording does.
 */
export async function readCallMessage(
  app: App,
  actor: Actor,
  { id, n, in_parts }: { readonly id: number; readonly n: number; readonly in_parts: boolean },
): Promise<Readable> {
  const call = await findRecordedCall(app, actor.account_id, id);
  const messages = await app.db.query
    .selectFrom("call_messages")
    .select(["recording", "state"])
    .where("account_id", "=", actor.account_id)
    .where("call_id", "=", id)
    // The numbering of the call record.
    .orderBy("at")
    .orderBy("recording")
    .execute();
  const message = messages[n - 1];
  if (message?.state !== "ready") throw noRecording();
  return openRecording(app, actor, call, {
    name: message.recording,
    detail: { message: n },
    in_parts,
  });
}
