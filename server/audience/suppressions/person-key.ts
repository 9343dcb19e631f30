import { statement, type Executor, type Tx } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";

/** A person, by at least one of the two identities that a provider reports. */
export type Person = {
  /** E.164 digits, without the plus. */
  readonly phone: string | null;
  /** WhatsApp's business-scoped user ID. */
  readonly bsuid?: string | null;
};

/** Returns the key of a person whose phone is unknown. */
export function bsuidKey(bsuid: string): string {
  return `bsuid:${bsuid}`;
}

// Inserts the row, or locks it: a concurrent link waits for this transaction, or this one for the link.
const lockBsuid = statement<{ phone_key: string | null }>(`
  insert into person_bsuids (account_id, bsuid) values ($1, $2)
  on conflict (account_id, bsuid) do update set bsuid = excluded.bsuid
  returning phone_key`);

/**
 * Returns the key under which a person's suppressions are stored: of the phone if it is known, here or by an
 * earlier linkBsuids. Otherwise of the BSUID, whose link then waits for this transaction.
 */
export async function lockPersonKey(tx: Tx, accountId: number, person: Person): Promise<string> {
  const { phone, bsuid } = person;
  if (phone !== null) return phoneKey(phone);
  if (bsuid == null) throw new Error("a person has neither a phone nor a BSUID");
  const [known] = await lockBsuid(tx, [accountId, bsuid]);
  return known!.phone_key ?? bsuidKey(bsuid);
}

const findPhoneKey = statement<{ phone_key: string | null }>(
  "select phone_key from person_bsuids where account_id = $1 and bsuid = $2",
);

/** Returns the same key as lockPersonKey, without a lock. */
export async function findPersonKey(
  db: Executor,
  accountId: number,
  { phone, bsuid }: Person,
): Promise<string> {
  if (phone !== null) return phoneKey(phone);
  if (bsuid == null) throw new Error("a person has neither a phone nor a BSUID");
  const [known] = await findPhoneKey(db, [accountId, bsuid]);
  return known?.phone_key ?? bsuidKey(bsuid);
}
