import type { Readable } from "node:stream";
import { LRUCache } from "lru-cache";
import { recordAudit, type Actor } from "../../../accounts/audit/record-audit.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import type { App } from "../../../engine/app.ts";
import { notFound, Refusal, unavailable } from "../../../lib/errors.ts";
import { openStreamSlots } from "../stream-slots.ts";
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
 * Each is a connection to a node's switch, whose `sessionlimit` of 1,000 is for all its requests, events and audio. Ten
 * processes whose downloads are all from one node use two thirds of it.
 */
const downloads = openStreamSlots("downloads of recordings", { slots_max: 64, of_account_max: 16 });

/** By process: the recordings that a token's player reads in parts, and that the audit trail has. */
const audited = new WeakMap<App, LRUCache<string, true>>();
const audited_max = 10_000;
/** A session lasts no longer without use. */
const audited_ms = 12 * 3_600_000;

/**
 * Opens a recording as a WAV file from its node, after it has recorded the access with `detail` in the
 * audit trail. A player asks for many parts: they are one entry for a token, and after a restart of this process
 * another. Refuses: not-found; rate-limited if the account has too many open downloads; unavailable if the process has,
 * if the node does not respond, or if this process has no driver for it.
 */
export async function openRecording(
  app: App,
  actor: Actor,
  call: { readonly id: number; readonly node_id: number },
  {
    name,
    detail,
    in_parts,
  }: { readonly name: string; readonly detail: unknown; readonly in_parts: boolean },
): Promise<Readable> {
  const node = await findVoiceNodeOrNull(app, call.node_id);
  if (!node) throw noRecording();
  const driver = app.voiceDrivers[node.driver];
  if (!driver) throw unavailable(new Error(`this process has no driver for node ${node.id}`));
  return downloads.open(actor.account_id, async () => {
    const known = auditedBy(app);
    const key = `${actor.account_id}:${actor.token_id}:${name}`;
    if (!in_parts || !known.has(key)) {
      const entry = {
        at: app.clock.now(),
        action: "call.listened" as const,
        subject_id: call.id,
        detail,
      };
      await app.db.query.transaction().execute((tx) => recordAudit(tx, actor, entry));
      if (in_parts) known.set(key, true);
    }
    const recording = await driver.readRecording(node, name).catch((error: unknown) => {
      throw error instanceof VoiceError ? unavailable(error) : error;
    });
    if (!recording) throw noRecording();
    return recording;
  });
}

function auditedBy(app: App): LRUCache<string, true> {
  const known = audited.get(app) ?? new LRUCache({ max: audited_max, ttl: audited_ms });
  audited.set(app, known);
  return known;
}

export function noRecording(): Refusal {
  return new Refusal("not-found", "This call has no such recording");
}
