// What create and update of a node have in common: its name is free, and so is its place at the switch.
import type { Tx } from "../../../lib/database/database.ts";
import { violatesUnique } from "../../../lib/database/database-errors.ts";
import { invalid, invalidField, type FieldError } from "../../../lib/errors.ts";

/** Refuses with all that is wrong at once: validation-failed (name, ari.app). */
export async function validateVoiceNode(
  tx: Tx,
  node: {
    /** Null: a new one. */
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
    const twin = await others.where("name", "=", node.name).executeTakeFirst();
    if (twin) violations.push(taken_name);
  }
  if (node.ari) {
    const { url, app } = node.ari;
    const twin = await others
      .where("ari_url", "=", url)
      .where("ari_app", "=", app)
      .executeTakeFirst();
    // A second connection under one name silences the first.
    if (twin) violations.push({ field: "ari.app", reason: "is another node's on this switch" });
  }
  if (violations.length > 0) throw invalid(violations);
}

const taken_name: FieldError = { field: "name", reason: "is already the name of a node" };

/** What a concurrent twin runs into after validateVoiceNode passed; throws everything else on. */
export function refuseTakenNode(error: unknown): never {
  if (violatesUnique(error, "voice_nodes_name_key"))
    throw invalidField(taken_name.field, taken_name.reason);
  throw error;
}
