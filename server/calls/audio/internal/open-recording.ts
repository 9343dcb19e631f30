import type { Readable } from "node:stream";
import { recordAudit, type Actor } from "../../../accounts/audit/record-audit.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import type { App } from "../../../engine/app.ts";
import { notFound, Refusal, unavailable } from "../../../lib/errors.ts";
import { findVoiceNodeOrNull } from "../../../telephony/nodes/find-voice-node.ts";

/** Returns the call of a recording. Refuses: not-found. */
export async function findRecordedCall(app: App, accountId: number, id: number) {
  const call = await app.db.query
    .selectFrom("calls")
    .select(["id", "node_id", "recording_state"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!call) throw notFound();
  return call;
}

/**
 * Opens a recording as a WAV file from its node, after it has recorded the access with `detail` in the
 * audit trail. Refuses: not-found; unavailable if the node does not respond, or if this process has no
 * driver for it.
 */
export async function openRecording(
  app: App,
  actor: Actor,
  call: { readonly id: number; readonly node_id: number },
  { name, detail }: { readonly name: string; readonly detail: unknown },
): Promise<Readable> {
  const node = await findVoiceNodeOrNull(app, call.node_id);
  if (!node) throw noRecording();
  const driver = app.voiceDrivers[node.driver];
  if (!driver) throw unavailable(new Error(`this process has no driver for node ${node.id}`));
  const entry = { at: app.clock.now(), action: "call.listened", subject_id: call.id, detail };
  await app.db.query.transaction().execute((tx) => recordAudit(tx, actor, entry));
  const recording = await driver.readRecording(node, name).catch((error: unknown) => {
    throw error instanceof VoiceError ? unavailable(error) : error;
  });
  if (!recording) throw noRecording();
  return recording;
}

export function noRecording(): Refusal {
  return new Refusal("not-found", "This call has no such recording");
}
