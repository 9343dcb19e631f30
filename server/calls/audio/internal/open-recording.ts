import type { Readable } from "node:stream";
import { recordAudit, type Actor } from "../../../accounts/audit/record-audit.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import type { App } from "../../../engine/app.ts";
import { notFound, Refusal, unavailable } from "../../../lib/errors.ts";
import { findNodeIfKept } from "../../../telephony/nodes/find-voice-node.ts";

/** The call whose recordings are asked for. Refuses: not-found. */
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
 * A recording as a WAV file, from the node that made it; who asked for it is written down, with
 * `detail`, before it is opened. Refuses: not-found when there is none; unavailable when the node does
 * not answer, or this process has no driver for it.
 */
export async function openRecording(
  app: App,
  actor: Actor,
  call: { readonly id: number; readonly node_id: number },
  { name, detail }: { readonly name: string; readonly detail: unknown },
): Promise<Readable> {
  const node = await findNodeIfKept(app.db.query, call.node_id);
  if (!node) throw noRecording();
  const driver = app.voiceDrivers[node.driver];
  if (!driver) throw unavailable(new Error(`there is no driver for node ${node.id} here`));
  const entry = { at: app.clock.now(), action: "call.listened", subject_id: call.id, detail };
  await app.db.query.transaction().execute((tx) => recordAudit(tx, actor, entry));
  const recording = await driver.readRecording(node, name).catch((error: unknown) => {
    throw error instanceof VoiceError ? unavailable(error) : error;
  });
  if (!recording) throw noRecording();
  return recording;
}

export function noRecording(): Refusal {
  return new Refusal("not-found", "There is no recording of this call");
}
