import type { Recipient } from "../../../audience/intake/open-intake.ts";
import { isBsuid } from "../../../lib/bsuid.ts";
import { statement, type Executor } from "../../../lib/database/database.ts";
import { phoneKey } from "../../../lib/phone-key.ts";

const statement_bsuids_max = 10_000;

const findPhoneKeys = statement<{ bsuid: string; phone_key: string }>(`
  select bsuid, phone_key from person_bsuids
  where account_id = $1 and bsuid = any ($2::text[]) and phone_key is not null`);

/** Returns which BSUIDs of these recipients removeLinkedDuplicates deletes when they are stored. */
export async function findLinkedDuplicates(
  db: Executor,
  accountId: number,
  { rows, bsuids: count }: { readonly rows: readonly Recipient[]; readonly bsuids: number },
): Promise<Set<string>> {
  const duplicates = new Set<string>();
  if (count === 0) return duplicates;
  const addresses = rows.map(({ phone }) => phone);
  const bsuids = addresses.filter(isBsuid);
  const seen = new Set(addresses.filter((address) => !isBsuid(address)).map(phoneKey));
  for (let at = 0; at < bsuids.length; at += statement_bsuids_max) {
    const some = bsuids.slice(at, at + statement_bsuids_max);
    const found = await findPhoneKeys(db, [accountId, some]);
    const keys = new Map(found.map(({ bsuid, phone_key }) => [bsuid, phone_key]));
    for (const bsuid of some) {
      const key = keys.get(bsuid);
      if (key === undefined) continue;
      if (seen.has(key)) duplicates.add(bsuid);
      seen.add(key);
    }
  }
  return duplicates;
}
