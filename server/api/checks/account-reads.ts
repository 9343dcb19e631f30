// Chooses the database of a request that may read from the replica. An account sees its own writes: before a write is
// answered, the primary stores until when the account's reads go there, in every process
// (docs/decisions/2026-11-25-reads-from-a-replica.md).
import { LRUCache } from "lru-cache";
import { isDatabaseUnavailable, isOfOneStatement } from "../../lib/database/database-errors.ts";
import { statement } from "../../lib/database/database.ts";
import type { ApiApp } from "../api-app.ts";

/** How many accounts a process remembers as having written. */
const accounts_max = 20_000;

export type AccountReads = {
  /** Runs a read with the app whose database is the replica if that is fresh enough for the account, else with the primary. */
  read<Answer>(accountId: number, work: (app: ApiApp) => Promise<Answer>): Promise<Answer>;
  /** Call it after a write, before its answer. Never throws. */
  noteWrite(accountId: number): Promise<void>;
};

/** Opens the choice; without a replica every read uses the primary. */
export function openAccountReads(app: ApiApp): AccountReads {
  const { replica, metrics } = app;
  if (!replica) return { read: (_, work) => work(app), noteWrite: async () => {} };
  const onReplica: ApiApp = { ...app, db: replica.db };
  /** Until when each account's reads are known to go to the primary, by the monotonic clock. */
  const written = new LRUCache<number, number>({ max: accounts_max });
  const storing = new Map<number, Promise<void>>();

  const mayBeOld = async (accountId: number): Promise<boolean> => {
    if (!replica.isUsable() || (written.get(accountId) ?? 0) > performance.now()) return false;
    const rows = await findWrites(app.db.pool, [accountId]);
    // Again, because the bound counts from the time at which no write was found.
    return rows.length === 0 && replica.isUsable();
  };
  /** For twice the bound, so that an account that writes all the time costs a statement now and then. */
  const store = async (accountId: number): Promise<void> => {
    const for_ms = 2 * replica.staleness_ms_max;
    const until_ms = performance.now() + for_ms;
    try {
      await storeWrite(app.db.pool, [accountId, for_ms]);
      written.set(accountId, until_ms);
    } catch (err) {
      app.log.warn({ err, account_id: accountId }, "could not store that an account has written");
    }
  };
  return {
    async read(accountId, work) {
      if (await mayBeOld(accountId)) {
        try {
          const answer = await work(onReplica);
          metrics.reads.inc({ database: "replica" });
          return answer;
        } catch (error) {
          const isGone = isDatabaseUnavailable(error) && !isOfOneStatement(error);
          if (!isGone && !isCancelledByReplay(error)) throw error;
          app.log.warn({ err: error }, "a read from the replica failed; using the primary");
          if (isGone) replica.fail();
        }
      }
      metrics.reads.inc({ database: "primary" });
      return work(app);
    },
    async noteWrite(accountId) {
      if ((written.get(accountId) ?? 0) - performance.now() >= replica.staleness_ms_max) return;
      const stored =
        storing.get(accountId) ?? store(accountId).finally(() => storing.delete(accountId));
      storing.set(accountId, stored);
      await stored;
    },
  };
}

/** Whether the replica cancelled the statement because its replay removes rows that the statement may read. */
function isCancelledByReplay(error: unknown): boolean {
  return (error as { code?: unknown }).code === "40001";
}

// A lease that no process holds, so that it needs no table of its own and is purged like the others.
const storeWrite = statement(`
  insert into leases as l (account_id, name, fence, expires_at)
  values ($1, 'primary_reads', 0, clock_timestamp() + $2 * interval '1 ms')
  on conflict (account_id, name) do update set expires_at = greatest(l.expires_at, excluded.expires_at)`);

const findWrites = statement(`
  select from leases where account_id = $1 and name = 'primary_reads' and expires_at > clock_timestamp()`);
