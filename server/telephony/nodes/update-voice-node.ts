import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalidField, notFound } from "../../lib/errors.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { passwordPlace } from "./internal/password-place.ts";
import { validateVoiceNode, refuseTakenNode } from "./internal/validate-voice-node.ts";
import { moveQueuedCalls, type MovedCalls } from "./move-queued-calls.ts";
import { laterStamp } from "./touch-voice-nodes.ts";
import { ariUrl, type VoiceNodeResponse, type VoiceNodePatch } from "./voice-node-schema.ts";
import { readVoiceNode } from "./voice-nodes.ts";
import { serializeNodeChanges } from "./serialize-node-changes.ts";

/**
 * Updates a voice node; its leader reconnects. Queued calls of a deactivated node move to other nodes
 * where possible. Refuses: not-found; validation-failed (name, ari.app taken, ari of the sandbox); conflict if a
 * node with live calls or recordings would get another ari.app.
 * The caller sends `call_work` for the node with account 0, and for `moved`, after the commit.
 */
export async function updateVoiceNode(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: VoiceNodePatch,
  { now, secrets }: { readonly now: Date; readonly secrets: Secrets },
): Promise<{ node: VoiceNodeResponse; moved: MovedCalls }> {
  await serializeNodeChanges(tx);
  const earlier = await lockVoiceNode(tx, id);
  const { ari, ...own } = patch;
  refuseForSandbox(earlier.driver, patch);
  const changed = ari?.url === undefined ? ari : { ...ari, url: ariUrl(ari.url) };
  const place = changed && {
    url: changed.url ?? earlier.ari_url!,
    app: changed.app ?? earlier.ari_app!,
  };
  await validateVoiceNode(tx, { id, name: own.name, ari: place ?? null });
  if (place && place.app !== earlier.ari_app) await refuseWithNamedObjects(tx, id);
  const sealed = changed?.password && {
    password: secrets.seal(passwordPlace(id), changed.password),
  };
  const access = Object.entries({ ...changed, ...sealed }).map(([field, value]) => [
    `ari_${field}`,
    value,
  ]);
  await tx
    .updateTable("voice_nodes")
    .set({
      ...own,
      ...(Object.fromEntries(access) as Record<string, string>),
      updated_at: laterStamp(now),
    })
    .where("id", "=", id)
    .execute()
    .catch(refuseTakenNode);
  const moved = patch.active === false ? await moveQueuedCalls(tx, { node_id: id }) : [];
  await recordAudit(tx, actor, {
    at: now,
    action: "voice_node.updated",
    subject_id: id,
    detail: {
      changed: [...Object.keys(own), ...Object.keys(ari ?? {}).map((field) => `ari.${field}`)],
    },
  });
  return { node: await readVoiceNode(tx, id), moved };
}

/** Locks the node until the transaction ends. Refuses: not-found. */
async function lockVoiceNode(tx: Tx, id: number) {
  const node = await tx
    .selectFrom("voice_nodes")
    .select(["driver", "ari_url", "ari_app"])
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!node) throw notFound();
  return node;
}

/** The application is part of the names at the switch: under another one, nothing is found, and 404 counts as deleted. */
async function refuseWithNamedObjects(tx: Tx, id: number): Promise<void> {
  const calls = tx.selectFrom("calls as c").select("c.id").where("c.node_id", "=", id).limit(1);
  const found =
    (await calls.where("c.stage", "not in", ["queued", "ended"]).executeTakeFirst()) ??
    (await calls.where("c.recording_state", "in", ["ready", "failed"]).executeTakeFirst()) ??
    (await calls
      .innerJoin("call_messages as m", (join) =>
        join.onRef("m.account_id", "=", "c.account_id").onRef("m.call_id", "=", "c.id"),
      )
      .where("m.state", "<>", "deleted")
      .executeTakeFirst());
  if (found)
    throw new Refusal(
      "conflict",
      "This node has live calls or recordings whose names contain its application; add another node for a new application",
    );
}

function refuseForSandbox(driver: string, { ari, cdr_path, sounds_dir }: VoiceNodePatch): void {
  if (driver !== "sandbox") return;
  if (ari) throw invalidField("ari", "is not available for the sandbox driver");
  if (cdr_path) throw invalidField("cdr_path", "is not available for the sandbox driver");
  if (sounds_dir) throw invalidField("sounds_dir", "is not available for the sandbox driver");
}
