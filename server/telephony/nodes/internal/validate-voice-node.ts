// Validation that creating and updating a node share: its name and its ARI application are free.
import type { Tx } from "../../../lib/database/database.ts";
import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalid, invalidField, type FieldError } from "../../../lib/errors.ts";

/** Reports every violation at once: validation-failed (name, ari.app). */
export async function validateVoiceNode(
  tx: Tx,
  node: {
    /** Null for a new node. */
    readonly id: number | null;
    readonly name?: string | undefined;
    readonly ari?: { readonly url: string; readonly app: string } | null;
  },
): Promise<void> {
  const violations: FieldError[] = [];
  const others = tx
    .selectFrom("voice_nodes")
    .select("id")
    .where("id", "<>", node.id ?? 0);
  if (node.name !== undefined) {
    const other = await others.where("name", "=", node.name).executeTakeFirst();
    if (other) violations.push(taken_name);
  }
  if (node.ari) {
    const { url, app } = node.ari;
    const other = await others
      .where("ari_url", "=", url)
      .where("ari_app", "=", app)
      .executeTakeFirst();
    // Asterisk sends an application's events to its latest connection only.
    if (other)
      violations.push({ field: "ari.app", reason: "is in use by another node of this switch" });
  }
  if (violations.length > 0) throw invalid(violations);
}

const taken_name: FieldError = { field: "name", reason: "is already the name of a node" };

/** Maps a unique violation, which concurrent requests cause, to a field error; rethrows other errors. */
export function refuseTakenNode(error: unknown): never {
  if (violatesUnique(error, "voice_nodes_name_key"))
    throw invalidField(taken_name.field, taken_name.reason);
  throw error;
}
