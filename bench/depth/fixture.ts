// Two accounts, one with little and one with much data, and the service that serves them.
import { join } from "node:path";
import pg from "pg";
import { foldDueCalls } from "../../server/reports/fold-calls.ts";
import { countDueCampaigns } from "../../server/reports/count-campaigns.ts";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import { makeChatNumber, makeChatTemplate } from "../../test/support/chat-factory.ts";
import { fillDepth, type HeavyAccount } from "../../test/support/fill-depth.ts";
import {
  spawnService,
  startService,
  type ServiceProcess,
} from "../../test/support/service-process.ts";
import {
  makeExtension,
  makeSandboxTrunk,
  setCalling,
} from "../../test/support/telephony-factory.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";
import type { Bench } from "../lib/run-bench.ts";

export type Name = "fresh" | "deep";
export type DepthAccount = TestAccount &
  HeavyAccount & {
    readonly campaign_id: number;
    /** How many people its leads are of; their phones are 6000000001 and so on. */
    readonly contacts: number;
  };

/** The heap and the indexes of a table, with its TOAST table. */
export type TableSize = {
  readonly name: string;
  readonly rows: number;
  readonly heap: number;
  readonly indexes: number;
};

export type Fixture = {
  readonly app: ReturnType<typeof openBenchApp>;
  /** A connection without a statement time-out. */
  readonly db: pg.Client;
  readonly service: ServiceProcess;
  account(name: Name): DepthAccount;
  /** Creates the account with its data. */
  fill(name: Name, size: { readonly leads: number; readonly messages: number }): Promise<void>;
  /** Returns the sizes of the tables with data, the largest first. */
  tables(): Promise<TableSize[]>;
  startWorker(): Promise<{ stop(): Promise<void> }>;
};

const never = new AbortController().signal;

export async function openFixture({ data_dir, postgres, defer }: Bench): Promise<Fixture> {
  const env = { DATABASE_URL: postgres.url, TRUNKLINE_SEED: "none" };
  const service = await startService({ ...env, ROLES: "api", DATA_DIR: join(data_dir, "api") });
  defer(() => service.dispose());
  const app = openBenchApp(postgres.url);
  defer(() => app.close());
  const connect = async () => {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    defer(() => client.end());
    return client;
  };
  const [db, beside] = [await connect(), await connect()];
  const accounts = new Map<Name, DepthAccount>();
  return {
    app,
    db,
    service,
    account: (name) => accounts.get(name)!,
    async fill(name, { leads, messages }) {
      const account = await makeDepthAccount(app);
      // Workers of the measurements before retention's would delete what it is to delete.
      await db.query("update accounts set retention_events_days = null where account_id = $1", [
        account.account_id,
      ]);
      await db.query("alter system set max_wal_size = '32GB'");
      await db.query("select pg_reload_conf()");
      await fillDepth([db, beside], account, { rows: leads, messages, small_accounts: 0 });
      await db.query("alter system reset max_wal_size");
      await db.query("select pg_reload_conf()");
      await db.query("analyze");
      while ((await foldDueCalls(app, never)) + (await countDueCampaigns(app, never)) > 0);
      await db.query("vacuum analyze");
      await db.query("checkpoint");
      const { rows } = await db.query<{ id: string }>(
        "select min(id) as id from chat_campaigns where account_id = $1",
        [account.account_id],
      );
      accounts.set(name, {
        ...account,
        campaign_id: Number(rows[0]!.id),
        contacts: Math.floor(leads * 0.6),
      });
    },
    tables: async () => (await db.query<TableSize>(table_sizes)).rows,
    async startWorker() {
      const worker = await spawnService({
        ...env,
        ROLES: "worker",
        DATA_DIR: join(data_dir, "worker"),
      });
      return { stop: () => worker.dispose() };
    },
  };
}

async function makeDepthAccount(app: Fixture["app"]): Promise<TestAccount & HeavyAccount> {
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 10_000_000, call: 10_000_000 });
  await setCalling(app, account, {
    night_calling: true,
    calls_per_customer_day: null,
    call_destinations_allowed: ["*"],
    call_caps: "{}",
  });
  await makeExtension(app, account, "101");
  const number = await makeChatNumber(app, account, { rate_per_second: 1_000 });
  const template_id = await makeChatTemplate(app, account, number);
  const trunk = await makeSandboxTrunk(app, account);
  return { ...account, ...trunk, chat_number_id: number.id, template_id };
}

const table_sizes = `
  select c.relname as name, greatest(c.reltuples, 0)::float8 as rows,
    (pg_table_size(c.oid))::float8 as heap, pg_indexes_size(c.oid)::float8 as indexes
  from pg_class c
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.reltuples > 1000
  order by pg_total_relation_size(c.oid) desc`;
