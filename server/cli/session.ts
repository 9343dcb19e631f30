// The settings, the database and the actor of one run of the command line.
import { randomBytes } from "node:crypto";
import type { AccountResponse } from "../accounts/accounts/account-schema.ts";
import { findAccount } from "../accounts/accounts/accounts.ts";
import { operatorOf, type Grantor } from "../accounts/roles/grantor.ts";
import { accountTokensSubject } from "../accounts/tokens/token-directory.ts";
import { readConfig, type Config } from "../config.ts";
import type { AiAgentDriver } from "../drivers/ai-agent/driver.ts";
import { openRealtimeDriver } from "../drivers/ai-agent/realtime/open-realtime-driver.ts";
import { sendNotification } from "../engine/notifications.ts";
import { keyReader, secretKeySource } from "../lib/secrets/secret-keys.ts";
import { openSecrets, type Secrets } from "../lib/secrets/secrets.ts";
import { systemClock } from "../lib/clock.ts";
import { openDatabase, type Database, type Tx } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";
import { openLog } from "../lib/log.ts";
import { pendingMigrations } from "../lib/database/migrate.ts";
import { findDatabase, type FoundDatabase } from "./find-database.ts";

export type Session = {
  readonly request_id: string;
  now(): Date;
  /** Throws ConfigError. */
  config(): Config;
  /** The realtime AI agent driver; null if none is configured. */
  realtime(): AiAgentDriver | null;
  /** The keys that seal stored secrets. */
  secrets(): Secrets;
  /** The database's address; starts the embedded server if it is not running. */
  databaseUrl(): Promise<string>;
  /** The database, with whatever schema it has. */
  database(): Promise<Database>;
  /** The database with the current schema; throws an Error that says what to do otherwise. */
  migratedDatabase(): Promise<Database>;
  /** An account of the migrated database; throws an Error if it does not exist. */
  account(id: number): Promise<AccountResponse>;
  /** Runs one operator transaction on an account, and invalidates every process's cached callers. */
  change<T>(accountId: number, effect: (tx: Tx, operator: Grantor) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** Opens a session. Settings and database are opened on first use. */
export function openSession(env: NodeJS.ProcessEnv): Session {
  let found: FoundDatabase | null = null;
  let opened: Database | null = null;
  let opened_secrets: Secrets | null = null;
  const session: Session = {
    request_id: `cli_${randomBytes(8).toString("hex")}`,
    now: () => systemClock.now(),
    config: () => readConfig(env),
    realtime() {
      const { realtime } = session.config();
      const log = openLog("silent", { readable: false });
      return realtime && openRealtimeDriver({ ...realtime, log });
    },
    secrets() {
      opened_secrets ??= openSecrets(keyReader(secretKeySource(session.config())));
      return opened_secrets;
    },
    async databaseUrl() {
      found ??= await findDatabase(session.config());
      return found.url;
    },
    async database() {
      opened ??= openDatabase(await session.databaseUrl(), openLog("silent", { readable: false }), {
        connections: 2,
        application: "trunkline-cli",
      });
      return opened;
    },
    async migratedDatabase() {
      const db = await session.database();
      const pending = await pendingMigrations(db.pool).catch(whenThereIsNone);
      if (pending?.length === 0) return db;
      throw new Error("The database schema is out of date; run: trunkline migrate");
    },
    async account(id) {
      const db = await session.migratedDatabase();
      return findAccount(db.query, id).catch((error: unknown) => {
        if (error instanceof Refusal)
          throw new Error(`Account ${id} does not exist`, { cause: error });
        throw error;
      });
    },
    async change(accountId, effect) {
      await session.account(accountId);
      const db = await session.database();
      const result = await db.query
        .transaction()
        .execute((tx) => effect(tx, operatorOf(accountId, session.request_id)));
      await sendNotification(db.pool, "token", accountTokensSubject(accountId));
      return result;
    },
    async close() {
      await opened?.close();
      await found?.close();
    },
  };
  return session;
}

/** The first migration creates the table of migrations. */
function whenThereIsNone(error: unknown): null {
  if ((error as { code?: unknown }).code === "42P01") return null;
  throw error;
}
