// A streaming replica for reads that may be a little old. How old it can be is known without its clock: the primary's
// position in the WAL is sampled, and the replica has everything up to the last sample that it has replayed.
import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../log.ts";
import { openDatabase, statement, type Database } from "./database.ts";
import { requireSessions } from "./require-sessions.ts";

export type ReadReplica = {
  readonly db: Database;
  /** The bound: a read from the replica sees everything that was committed this long before. */
  readonly staleness_ms_max: number;
  /** Returns how old the replica's state may be; Infinity while it is unknown. */
  stalenessMs(): number;
  /** Whether reads may use it now: it answered, and its state is within the bound. */
  isUsable(): boolean;
  /** Returns why it is not usable; null if it is. */
  problem(): string | null;
  /** Reports a read that failed: the replica is not used until it answers again. */
  fail(): void;
  close(): Promise<void>;
};

type Sample = { readonly at_ms: number; readonly position: number };

const poll_ms = 250;

/** Opens a replica of the primary, and follows its state until it is closed. Never throws: reads use the primary meanwhile. */
export function openReadReplica(
  primary: Database,
  url: string,
  staleness_ms_max: number,
  log: Log,
): ReadReplica {
  const db = openDatabase(url, log, { application: "trunkline-reads" });
  /** Positions that the replica has not replayed yet, oldest first. */
  let ahead: Sample[] = [];
  /** The replica has everything that was committed before this time, by the monotonic clock. */
  let complete_until_ms = -Infinity;
  let was_usable: boolean | null = null;
  let reason = "it has not answered yet";
  const stalenessMs = () => performance.now() - complete_until_ms;
  const isUsable = () => stalenessMs() <= staleness_ms_max;

  let is_checked = false;
  const look = async () => {
    if (!is_checked) await requireSessions(url);
    is_checked = true;
    const at_ms = performance.now();
    const [written] = await readWritten(primary.pool, []);
    ahead.push({ at_ms, position: written!.position });
    const [replayed] = await readReplayed(db.pool, []);
    if (replayed!.position === null) throw new Error("the server is not a replica");
    if (replayed!.origin !== written!.origin)
      throw new Error("the server is a replica of another database");
    // One that was left on the lost timeline may be at a higher position than the primary.
    if (replayed!.timeline !== written!.timeline)
      throw new Error(
        "the server does not have the primary's restore or failover; rebuild the replica if it does not follow",
      );
    const seen = ahead.findLastIndex(({ position }) => position <= replayed!.position!);
    if (seen < 0) return;
    complete_until_ms = ahead[seen]!.at_ms;
    ahead = ahead.slice(seen + 1);
  };
  const follow = async () => {
    reason = await look().then(() => "it lags behind the primary", reasonOf);
    // Sampled four times a second; older samples than the bound say nothing more.
    ahead = ahead.slice(-Math.ceil(staleness_ms_max / poll_ms) - 1);
    if (isUsable() === was_usable) return;
    was_usable = isUsable();
    if (was_usable) log.info("reads use the replica");
    else log.warn(`reads use the primary instead of the replica: ${reason}`);
  };

  const closing = new AbortController();
  const { signal } = closing;
  const run = async () => {
    while (!signal.aborted) {
      await follow();
      await wait(poll_ms, undefined, { signal }).catch(() => {});
    }
  };
  const running = run();
  return {
    db,
    staleness_ms_max,
    stalenessMs,
    isUsable,
    problem: () => (isUsable() ? null : reason),
    fail: () => (complete_until_ms = -Infinity),
    async close() {
      closing.abort();
      await running;
      await db.close();
    },
  };
}

function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

type Position<Value> = {
  readonly position: Value;
  readonly origin: string;
  /** The one that the service has recognized; null before that. */
  readonly timeline: string | null;
};
const origin = `
  (select system_identifier from pg_control_system()) || current_database() as origin,
  (select timeline from database_identity) as timeline`;

// A commit is answered once its WAL is written.
const readWritten = statement<Position<number>>(
  `select (pg_current_wal_lsn() - '0/0')::bigint as position, ${origin}`,
);

const readReplayed = statement<Position<number | null>>(`
  select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::bigint end as position, ${origin}`);
