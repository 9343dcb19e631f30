// Creates an account with endpoints and undelivered events for each run.
import { sql } from "kysely";
import type { App } from "../../server/engine/app.ts";
import { makeEndpoint } from "../../test/support/callback-factory.ts";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { machineTime_ms } from "../lib/machine-clock.ts";
import { until } from "../lib/until.ts";
import { dataOf, type } from "./bodies.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

export type Run = { readonly account: TestAccount; readonly endpoint_ids: readonly number[] };

export type Fixture = {
  /** Creates an endpoint for each port and `count` events for each endpoint, none of them due yet. */
  prepare(ports: readonly number[], count: number): Promise<Run>;
  /** Makes all deliveries due; returns the time by the machine's clock. */
  release(run: Run): Promise<number>;
  /** Waits until the first `endpoints` have received everything. */
  awaitDelivered(run: Run, endpoints: number): Promise<void>;
  /** Disables the endpoints; waits until no deliverer is running. */
  clear(run: Run): Promise<void>;
  close(): Promise<void>;
};

const timeout_ms = 600_000;

export async function openFixture(database_url: string): Promise<Fixture> {
  const app = openBenchApp(database_url);
  const { pool } = app.db;
  const change = (text: string, { account }: Run) => pool.query(text, [account.account_id]);
  return {
    prepare: (ports, count) => prepare(app, ports, count),
    async release(run) {
      // No contender pays for the writes of the previous one.
      await pool.query("checkpoint");
      await change(
        `with due as (update callback_deliveries set due_at = now() where account_id = $1)
         update callback_endpoints set work_at = now() where account_id = $1`,
        run,
      );
      const began_ms = machineTime_ms();
      app.notifications.send("callback_work", String(run.account.account_id));
      return began_ms;
    },
    async awaitDelivered({ account, endpoint_ids }, endpoints) {
      const values = [account.account_id, endpoint_ids.slice(0, endpoints)];
      const text = `select from callback_deliveries
        where account_id = $1 and endpoint_id = any ($2) and state <> 'delivered' limit 1`;
      const isDelivered = async () => (await pool.query(text, values)).rowCount === 0;
      await until("everything is delivered", isDelivered, { poll_ms: 50, timeout_ms });
    },
    async clear(run) {
      await change("update callback_endpoints set enabled = false where account_id = $1", run);
      app.notifications.send("callback_work", String(run.account.account_id));
      const text = `select from leases where account_id = $1 and name like 'callbacks:%'
        and holder is not null and expires_at > clock_timestamp() limit 1`;
      const isQuiet = async () => (await change(text, run)).rowCount === 0;
      await until("no deliverer is running", isQuiet, { timeout_ms });
    },
    close: app.close,
  };
}

async function prepare(app: App, ports: readonly number[], count: number): Promise<Run> {
  const account = await makeAccount(app);
  const endpoint_ids: number[] = [];
  for (const port of ports) {
    const { id } = await makeEndpoint(app, account, { url: `http://127.0.0.1:${port}/` });
    endpoint_ids.push(id);
  }
  const data = Array.from({ length: count }, (_, i) => JSON.stringify(dataOf(i)));
  // In one transaction, so that the worker's relay does not relay them first; due in an hour.
  await app.db.query.transaction().execute(async (tx) => {
    const rows = data.map((text) => ({
      account_id: account.account_id,
      type,
      occurred_at: new Date(),
      data: text,
    }));
    for (let i = 0; i < count; i += 1_000)
      await tx
        .insertInto("events")
        .values(rows.slice(i, i + 1_000))
        .execute();
    await sql`select relay_events(${account.account_id}, ${count}, now() + interval '1 hour')`.execute(
      tx,
    );
  });
  return { account, endpoint_ids };
}
