import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { validateVoiceNode, refuseTakenNode } from "./internal/validate-voice-node.ts";
import { ariUrl, type NewVoiceNode, type VoiceNodeResponse } from "./voice-node-schema.ts";
import { readVoiceNode } from "./voice-nodes.ts";

/**
 * Creates a voice node; for operators. The caller has validated the shape of `ari`. Refuses:
 * validation-failed (name, ari.app taken).
 */
export async function createVoiceNode(
  tx: Tx,
  actor: Actor,
  wanted: NewVoiceNode,
  now: Date,
): Promise<VoiceNodeResponse> {
  const { name, driver, calls_per_second, calls_max } = wanted;
  const ari = wanted.ari ? { ...wanted.ari, url: ariUrl(wanted.ari.url) } : null;
  await validateVoiceNode(tx, { id: null, name, ari });
  const { id } = await tx
    .insertInto("voice_nodes")
    .values({
      name,
      driver,
      ari_url: ari?.url ?? null,
      ari_user: ari?.user ?? null,
      ari_password: ari?.password ?? null,
      ari_app: ari?.app ?? null,
      cdr_path: wanted.cdr_path ?? null,
      sounds_dir: wanted.sounds_dir ?? null,
      calls_per_second,
      calls_max,
      active: wanted.active ?? true,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow()
    .catch(refuseTakenNode);
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.created",
    subject_id: id,
    detail: { driver },
  });
  return readVoiceNode(tx, id);
}
