// The other number under which the provider knows a recipient: replies come from it, so suppressions of either apply to
// both.
import { isBsuid } from "../../lib/bsuid.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";

export type PhoneAlias = { readonly phone: string; readonly wa_id: string };

/** Returns the number that the provider names if it is not the recipient's own in another spelling. */
export function aliasOf(phone: string, wa_id: string | undefined): PhoneAlias | null {
  if (wa_id === undefined || isBsuid(phone)) return null;
  return phoneKey(wa_id) === phoneKey(phone) ? null : { phone, wa_id };
}

/** Stores aliases of an account; a sender stores its own with its results. */
export async function recordAliases(
  db: Executor,
  accountId: number,
  aliases: readonly PhoneAlias[],
): Promise<void> {
  await record(db, [accountId, JSON.stringify(aliases)]);
}

const record = statement("select from record_phone_aliases($1, $2)");
