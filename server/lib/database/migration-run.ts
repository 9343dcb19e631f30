// What the parts of one run of the migrations share: its session, and transactions that wait for locks briefly.
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { distributeTable } from "./distribute-tables.ts";
import { placementOf, type Manifest } from "./plan-tables.ts";
import { MigrationError } from "./migration-error.ts";

export type MigrationRun = {
  readonly client: pg.Client;
  /** Receives lines about progress, for the log or the terminal. */
  readonly report: (line: string) => void;
  /** How long a transaction is repeated that cannot lock its tables. */
  readonly wait_ms: number;
  /** Describes what blocked the session last; null if that is unknown. */
  readonly takeBlockers: () => string | null;
  /** The manifest of the tables on a distributed database; null on another. */
  readonly distributed: Manifest | null;
};

/**
 * While a statement waits for a table, all later requests for the table queue behind it. So it waits only this
 * long, and the transaction is rolled back and repeated after a pause in which they run.
 */
const lock_timeout_ms = 200;
const pause_min_ms = 500;
const pause_max_ms = 10_000;

/**
 * Runs `work` in a transaction that waits for each lock at most 200 ms, and repeats it for as long as the run
 * may wait. With `patient` it waits without a limit: only for locks behind which no request queues.
 */
export async function inTransaction(
  run: MigrationRun,
  name: string,
  work: () => Promise<void>,
  { patient = false } = {},
): Promise<void> {
  await repeatWhileBlocked(run, name, async () => {
    await run.client.query("begin");
    try {
      await run.client.query(`set local lock_timeout = ${patient ? 0 : lock_timeout_ms}`);
      await work();
      await run.client.query("commit");
    } catch (error) {
      await run.client.query("rollback").catch(() => {}); // Fails only if the session has ended.
      throw error;
    }
  });
}

const created_table = /^create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(\w+)/i;

/** Runs a statement of a migration in the caller's transaction; on a distributed database, distributes the table it creates. */
export async function runStatement(
  { client, distributed }: MigrationRun,
  sql: string,
): Promise<void> {
  await client.query(sql);
  const table = created_table.exec(sql)?.[1];
  if (distributed && table !== undefined)
    await distributeTable(client, { table, placement: placementOf(distributed, table) });
}

/** Repeats `attempt` while it fails because other sessions hold its locks; throws MigrationError that names them. */
export async function repeatWhileBlocked(
  run: MigrationRun,
  name: string,
  attempt: () => Promise<void>,
): Promise<void> {
  const began_ms = performance.now();
  let blockers: string | null = null;
  for (let pause_ms = pause_min_ms; ; pause_ms = Math.min(2 * pause_ms, pause_max_ms)) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBlocked(error)) throw error;
      // A busy machine may see them in an earlier attempt only.
      blockers = run.takeBlockers() ?? blockers;
      const reason = `it is blocked by ${blockers ?? "another session"}`;
      if (performance.now() - began_ms + pause_ms > run.wait_ms) {
        const seconds = Math.round(run.wait_ms / 1_000);
        throw new MigrationError(
          `${name} could not lock its tables within ${seconds} s: ${reason}`,
          { cause: error },
        );
      }
      run.report(`${name} could not lock its tables: ${reason}; retrying in ${pause_ms} ms`);
      await wait(pause_ms);
    }
  }
}

/** A lock timeout or a deadlock, which the failure of a migration may wrap. */
function isBlocked(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === "55P03" || code === "40P01" || (cause instanceof Error && isBlocked(cause));
}
