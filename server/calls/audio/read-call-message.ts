import type { Readable } from "node:stream";
import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { findRecordedCall, noRecording, openRecording } from "./internal/open-recording.ts";

/**
 * The nth message that a caller left, 1 the first, as a WAV file from the node that has it; who asked
 * for it is written down before it is opened. Refuses: not-found, also when there is none; unavailable
 * when the node does not answer, or this process has no driver for it.
 */
export async function readCallMessage(
  app: App,
  actor: Actor,
  { id, n }: { readonly id: number; readonly n: number },
): Promise<Readable> {
  const call = await findRecordedCall(app, actor.account_id, id);
  const messages = await app.db.query
    .selectFrom("call_messages")
    .select(["recording", "state"])
    .where("account_id", "=", actor.account_id)
    .where("call_id", "=", id)
    // As the report numbers them.
    .orderBy("at")
    .orderBy("recording")
    .execute();
  const message = messages[n - 1];
  if (message?.state !== "ready") throw noRecording();
  return openRecording(app, actor, call, { name: message.recording, detail: { message: n } });
}
