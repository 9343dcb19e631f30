// When each token was last used: noted per request in memory, written now and then.
import { statement, type Database } from "../../../lib/database/database.ts";

export type LastUses = {
  note(accountId: number, tokenId: number, at: Date): void;
  /** Writes what was noted; on an error nothing noted is lost, and the next call tries again. */
  save(): Promise<void>;
};

/** By token, per account: one account's tokens are on one shard and go in one statement. */
type Noted = Map<number, Map<number, Date>>;

// In the order of the ids: two processes that save the same tokens never wait in a circle.
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
