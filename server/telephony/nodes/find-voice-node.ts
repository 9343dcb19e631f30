import type { Kysely } from "kysely";
import type { VoiceDriverName, VoiceNode } from "../../drivers/voice/driver.ts";
import type { DB } from "../../lib/database/database.ts";

type FoundNode = VoiceNode & { readonly driver: VoiceDriverName };

/**
 * The switch as its driver needs it, and which driver that is; also one that takes no new calls any
 * more, for its recordings stay on it. Throws when there is none: while a call is open its node is kept.
 */
export async function findVoiceNode(db: Kysely<DB>, id: number): Promise<FoundNode> {
  const node = await findNodeIfKept(db, id);
  if (!node) throw new Error(`there is no voice node ${id}`);
  return node;
}

/** The same, or null for one that was deleted, which took its recordings with it. */
export async function findNodeIfKept(db: Kysely<DB>, id: number): Promise<FoundNode | null> {
  const found = await db
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
  // The table's check: an Asterisk has all four.
  const ari =
    driver === "asterisk"
      ? { url: ari_url!, user: ari_user!, password: ari_password!, app: ari_app! }
      : null;
  return { ...node, driver: driver as VoiceDriverName, ari };
}
