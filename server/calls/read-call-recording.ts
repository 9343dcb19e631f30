import type { Readable } from "node:stream";
import { recordAudit, type Actor } from "../accounts/record-audit.ts";
import { VoiceError } from "../drivers/voice/driver.ts";
import type { App } from "../engine/app.ts";
import { notFound, Refusal, unavailable } from "../lib/errors.ts";
import { findVoiceNode } from "./find-voice-node.ts";
import { callName } from "./life/call.ts";

/**
 * A call's recording as a WAV file, from the node that made it; who asked for it is written down
 * before it is opened. Refuses: not-found, also when there is none; unavailable when the node does not
 * answer, or this process has no driver for it.
 */
export async function readCallRecording(app: App, actor: Actor, id: number): Promise<Readable> {
  const accountId = actor.account_id;
  const call = await app.db.query
    .selectFrom("calls")
    .select(["node_id", "recording_state"])
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!call) throw notFound();
  if (call.recording_state !== "ready") throw noRecording();
  const node = await findVoiceNode(app.db.query, call.node_id);
  const driver = app.voiceDrivers[node.driver];
  if (!driver) throw unavailable(new Error(`there is no driver for node ${node.id} here`));
  const at = app.clock.now();
  await app.db.query
    .transaction()
    .execute((tx) => recordAudit(tx, actor, { at, action: "call.listened", subject_id: id }));
  const name = callName({ account_id: accountId, id });
  const recording = await driver.readRecording(node, name).catch((error: unknown) => {
    throw error instanceof VoiceError ? unavailable(error) : error;
  });
  if (!recording) throw noRecording();
  return recording;
}

function noRecording(): Refusal {
  return new Refusal("not-found", "There is no recording of this call");
}
