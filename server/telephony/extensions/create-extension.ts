import { recordAudit } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { endpointPrefix } from "./endpoint-prefix.ts";
import type { ExtensionResponse, NewExtension } from "./extension-schema.ts";
import { readExtension } from "./extensions.ts";
import {
  validateExtension,
  refuseTakenExtension,
  type ExtensionOwner,
} from "./internal/validate-extension.ts";

/**
 * Creates an extension. Refuses: validation-failed (extension or digit taken, endpoint not the
 * account's, user_id unknown).
 */
export async function createExtension(
  tx: Tx,
  { account, actor }: ExtensionOwner,
  wanted: NewExtension,
  now: Date,
): Promise<ExtensionResponse> {
  const { account_id } = actor;
  await validateExtension(tx, account, { id: null, ...wanted });
  const { extension, name, user_id = null, endpoint, digit = null } = wanted;
  const { id } = await tx
    .insertInto("extensions")
    .values({
      account_id,
      extension,
      name,
      user_id,
      endpoint: endpoint ?? endpointPrefix(account) + extension,
      digit,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow()
    .catch(refuseTakenExtension);
  await recordAudit(tx, actor, {
    at: now,
    action: "extension.created",
    subject_id: id,
    detail: { extension },
  });
  return readExtension(tx, account_id, id);
}
