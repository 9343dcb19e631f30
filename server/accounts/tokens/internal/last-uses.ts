// When each token was last used: collected in memory and saved at intervals.
import { statement, type Database } from "../../../lib/database/database.ts";

export type LastUses = {
  note(accountId: number, tokenId: number, at: Date): void;
  /** Returns the last use that is not saved yet. */
  lastUse(accountId: number, tokenId: number): Date | null;
  /** Saves the collected uses; on an error they are kept, and the next call tries again. */
  save(): Promise<void>;
};

/** Tokens by account: one statement per account goes to one shard. */
type Noted = Map<number, Map<number, Date>>;

// Ordered by ID, so that two processes that save the same tokens cannot deadlock.
const saveOfAccount = statement(`
  with used as materialized (
    select t.id, u.at
    from unnest($2::bigint[], $3::timestamptz[]) u(id, at)
    join tokens t on t.account_id = $1 and t.id = u.id
    where t.last_used_at is null or t.last_used_at < u.at
    order by t.id
    for no key update of t
  )
  update tokens t set last_used_at = used.at from used
  where t.account_id = $1 and t.id = used.id`);

export function openLastUses(db: Database): LastUses {
  let noted: Noted = new Map();
  const note = (accountId: number, tokenId: number, at: Date) => {
    const ofAccount = noted.get(accountId) ?? new Map<number, Date>();
    noted.set(accountId, ofAccount);
    const known = ofAccount.get(tokenId);
    if (!known || known < at) ofAccount.set(tokenId, at);
  };
  return {
    note,
    lastUse: (accountId, tokenId) => noted.get(accountId)?.get(tokenId) ?? null,
    async save() {
      const saving = noted;
      noted = new Map();
      try {
        for (const [accountId, uses] of saving) {
          await saveOfAccount(db.pool, [accountId, [...uses.keys()], [...uses.values()]]);
          saving.delete(accountId);
        }
      } finally {
        for (const [accountId, uses] of saving)
          for (const [tokenId, at] of uses) note(accountId, tokenId, at);
      }
    },
  };
}
