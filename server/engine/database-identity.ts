// Recognizes a database that was restored or failed over: it may not know what was sent last. Until an
// operator has decided about that (`trunkline restored`), the workers of such a database do nothing.
import type pg from "pg";
import { sql } from "kysely";
import { statement, type Database, type Tx } from "../lib/database/database.ts";
import type { App } from "./app.ts";

/**
 * What changes when a database is restored from a dump, on another server (system_identifier) or on the same (oids), and
 * when it is restored to a moment or failed over (timeline).
 */
type DatabaseIdentity = {
  readonly system_identifier: string;
  readonly timeline: string;
  readonly oids: string;
};

// A copy by `create database … template` keeps the OIDs of its tables, and `pg_restore --clean` that of the database.
const oids = `
  (select oid from pg_database where datname = current_database())::text || ' '
  || coalesce(to_regclass('database_identity')::oid::text, '') as oids`;

// The control file has the timeline only after the first checkpoint of a promoted server.
const identity_query = `
  select system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline, ${oids}
  from pg_control_system()`;

/** Of a server that does not reveal itself: only the operator knows of a failover, or of a restore to a moment. */
const unrevealed_query = `select 'unknown' as system_identifier, 'unknown' as timeline, ${oids}`;

/** Insufficient privilege, and not supported: some providers of PostgreSQL restrict these functions. */
const unrevealed: ReadonlySet<unknown> = new Set(["42501", "0A000"]);

/** Object not in prerequisite state: a server in recovery writes no WAL. */
const in_recovery = "55000";

function unavailable(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Returns the identity of the database; not within a transaction, which an error would end. */
async function readIdentity(client: Pick<pg.ClientBase, "query">): Promise<DatabaseIdentity> {
  const read = async (query: string) => (await client.query<DatabaseIdentity>(query)).rows[0]!;
  try {
    return await read(identity_query);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (unrevealed.has(code)) return read(unrevealed_query);
    if (code === in_recovery) throw unavailable("the database is in recovery", "57P03");
    throw error;
  }
}

/**
 * Returns a check for each new connection of a process: the first one defines the database, and a connection to
 * another one is refused, as unavailable, and reported. What the process has cached and has in flight belongs to the first.
 */
export function openIdentityCheck(onChanged: () => void): (client: pg.ClientBase) => Promise<void> {
  let known: string | null = null;
  return async (client) => {
    const identity = await readIdentity(client);
    const found = `${identity.system_identifier} ${identity.timeline} ${identity.oids}`;
    known ??= found;
    if (found === known) return;
    onChanged();
    throw unavailable("the database was restored or failed over", "08006");
  };
}

/** The last time at which a worker is known to have run on the database, and whether it was changed since. */
export type KnownDatabase = { readonly seen_at: Date; readonly changed_at: Date | null };

const addIdentity = statement(`
  insert into database_identity (system_identifier, timeline, oids, seen_at) values ($1, $2, $3, $4)
  on conflict do nothing`);

// Of a row that an earlier version wrote.
const addOids = statement("update database_identity set oids = $1 where oids is null");

const recordIdentity = statement<{ is_first: boolean }>(`
  update database_identity
  set system_identifier = $1, timeline = $2, oids = $3, changed_at = coalesce(changed_at, $4)
  where system_identifier <> $1 or timeline <> $2 or oids <> $3
  returning true as is_first`);

/**
 * Compares the database with the one that the service last worked on. Of another one, the first process advances
 * its IDs, so that none is given again, and records that an operator has to decide. Returns whether one has to.
 */
export async function recognizeDatabase(db: Database, now: Date): Promise<boolean> {
  const found = await readIdentity(db.pool);
  const identity = [found.system_identifier, found.timeline, found.oids];
  await addIdentity(db.pool, [...identity, now]);
  await addOids(db.pool, [found.oids]);
  await db.query.transaction().execute(async (tx) => {
    // The update locks the row, so that no process continues before the IDs are advanced.
    const changed = await recordIdentity(tx, [...identity, now]);
    if (changed.length > 0) await advanceIds(tx);
  });
  const known = await readKnownDatabase(db);
  return known.changed_at !== null;
}

export async function readKnownDatabase({
  query,
}: Pick<Database, "query">): Promise<KnownDatabase> {
  const known = await query
    .selectFrom("database_identity")
    .select(["seen_at", "changed_at"])
    .executeTakeFirst();
  if (known) return known;
  throw new Error("the service has not run on this database yet");
}

/** More than the database can have given out since the moment it was restored to; 2^53 is nine million times as much. */
const ids_skipped = 1_000_000_000;

/**
 * Advances every identity and the positions of live events, also where nothing was restored meanwhile. An ID of the lost
 * time would otherwise mean two things: to those who have read it, and in delivery statuses of a lost campaign's messages.
 */
export async function advanceIds(tx: Tx): Promise<void> {
  await sql`
    select setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + ${ids_skipped}::bigint)
    from pg_sequences where schemaname = current_schema() and data_type = 'bigint'::regtype`.execute(
    tx,
  );
  await sql`update event_heads set seq = seq + ${ids_skipped}::bigint`.execute(tx);
}

/** Returns a function that confirms, in the caller's transaction, the database as it is now: its workers start. */
export async function openConfirmation(
  db: Database,
): Promise<(tx: Tx, now: Date) => Promise<void>> {
  const found = await readIdentity(db.pool);
  return async (tx, now) => {
    await tx
      .updateTable("database_identity")
      .set({ ...found, seen_at: now, changed_at: null })
      .execute();
  };
}

const recordSeen = statement(`
  update database_identity set seen_at = $1 where changed_at is null returning is_only`);

/** Records that a worker runs; returns false while an operator has to decide. */
export async function recordWorker({ db, clock }: Pick<App, "db" | "clock">): Promise<boolean> {
  return (await recordSeen(db.pool, [clock.now()])).length > 0;
}
