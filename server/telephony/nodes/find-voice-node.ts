import type { VoiceDriverName, VoiceNode } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { passwordPlace } from "./internal/password-place.ts";

type Stored = Pick<App, "db" | "secrets">;

type FoundNode = VoiceNode & { readonly driver: VoiceDriverName };

/**
 * Returns a node's connection settings and driver, even of an inactive node, which still has its
 * recordings. Throws if the node does not exist: a node with live calls is never deleted.
 */
export async function findVoiceNode(app: Stored, id: number): Promise<FoundNode> {
  const node = await findVoiceNodeOrNull(app, id);
  if (!node) throw new Error(`voice node ${id} does not exist`);
  return node;
}

/** Returns a node as findVoiceNode does, or null if it was deleted; its recordings are then unavailable. */
export async function findVoiceNodeOrNull(
  { db, secrets }: Stored,
  id: number,
): Promise<FoundNode | null> {
  const found = await db.query
    .selectFrom("voice_nodes")
    .select([
      "id",
      "name",
      "driver",
      "ari_url",
      "ari_user",
      "ari_password",
      "ari_app",
      "cdr_path",
      "sounds_dir",
    ])
    .where("id", "=", id)
    .executeTakeFirst();
  if (!found) return null;
  const { driver, ari_url, ari_user, ari_password, ari_app, ...node } = found;
  // A check constraint requires all four of an Asterisk node.
  const ari =
    driver === "asterisk"
      ? {
          url: ari_url!,
          user: ari_user!,
          password: secrets.open(passwordPlace(id), ari_password!).toString(),
          app: ari_app!,
        }
      : null;
  return { ...node, driver: driver as VoiceDriverName, ari };
}
