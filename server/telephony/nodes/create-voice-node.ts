import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { passwordPlace } from "./internal/password-place.ts";
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
  secrets: Secrets,
): Promise<VoiceNodeResponse> {
  const { name, driver, calls_per_second, calls_max } = wanted;
  const ari = wanted.ari ? { ...wanted.ari, url: ariUrl(wanted.ari.url) } : null;
  await validateVoiceNode(tx, { id: null, name, ari });
  const id = await nextNodeId(tx);
  await tx
    .insertInto("voice_nodes")
    .values({
      id,
      name,
      driver,
      ari_url: ari?.url ?? null,
      ari_user: ari?.user ?? null,
      ari_password: ari ? secrets.seal(passwordPlace(id), ari.password) : null,
      ari_app: ari?.app ?? null,
      cdr_path: wanted.cdr_path ?? null,
      sounds_dir: wanted.sounds_dir ?? null,
      calls_per_second,
      calls_max,
      active: wanted.active ?? true,
      created_at: now,
      updated_at: now,
    })
    .execute()
    .catch(refuseTakenNode);
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.created",
    subject_id: id,
    detail: { driver },
  });
  return readVoiceNode(tx, id);
}

/** Draws the ID first, because the password is sealed for its row. */
async function nextNodeId(tx: Tx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('voice_nodes', 'id')) as id`.execute(tx);
  return rows[0]!.id;
}
