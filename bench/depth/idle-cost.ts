import { setTimeout as wait } from "node:timers/promises";
import type { Fixture } from "./fixture.ts";

/** By the name of what was counted. */
export type Rates = Readonly<Record<string, number>>;

/** Measures what the database does for processes that have nothing to do. */
export async function measureIdle({ db }: Fixture, seconds: number): Promise<Rates> {
  const read = async () => {
    const { rows } = await db.query<{ transactions: number; blocks: number }>(counters);
    return rows[0]!;
  };
  const before = await read();
  await wait(seconds * 1_000);
  const after = await read();
  return {
    "idle: transactions a second": (after.transactions - before.transactions) / seconds,
    "idle: blocks a second": (after.blocks - before.blocks) / seconds,
  };
}

const counters = `
  select (xact_commit + xact_rollback)::float8 as transactions, (blks_hit + blks_read)::float8 as blocks
  from pg_stat_database where datname = current_database()`;
