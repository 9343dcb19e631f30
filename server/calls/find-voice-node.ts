import type { Kysely } from "kysely";
import type { VoiceDriverName, VoiceNode } from "../drivers/voice/driver.ts";
import type { DB } from "../lib/database.ts";

/**
 * The switch as its driver needs it, and which driver that is; also one that takes no new calls any
 * more, for its recordings stay on it. Throws when there is none: a call's node is never deleted.
 */
export async function findVoiceNode(
  db: Kysely<DB>,
  id: number,
): Promise<VoiceNode & { readonly driver: VoiceDriverName }> {
  const { driver, ari_url, ari_user, ari_password, ari_app, ...node } = await db
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
    .executeTakeFirstOrThrow();
  // The table's check: an Asterisk has all four.
  const ari =
    driver === "asterisk"
      ? { url: ari_url!, user: ari_user!, password: ari_password!, app: ari_app! }
      : null;
  return { ...node, driver: driver as VoiceDriverName, ari };
}
