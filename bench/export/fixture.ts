// One service and one account with many rows, which are exported over HTTP and with psql.
import pg from "pg";
import { makeSandboxTrunk } from "../../test/support/telephony-factory.ts";
import { makeChatNumber, makeChatTemplate } from "../../test/support/chat-factory.ts";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { startService, type ServiceProcess } from "../../test/support/service-process.ts";
import { makeVoiceFile } from "../../test/support/voice-factory.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";
import { runTool } from "../lib/run-tool.ts";
import { fillAccount } from "./fill-account.ts";

export type Name = "recipients" | "calls";

export type Fixture = {
  readonly service: ServiceProcess;
  readonly token: string;
  readonly exports: Readonly<Record<Name, { readonly url: string }>>;
  /** Writes the same rows with psql; returns the duration in seconds. */
  copy(name: Name): Promise<number>;
  /** Counts the server's open transactions without a running statement. */
  transactions(): Promise<number>;
  close(): Promise<void>;
};

export async function openFixture(
  database_url: string,
  data_dir: string,
  rows: number,
): Promise<Fixture> {
  const env = { DATABASE_URL: database_url, ROLES: "api", TRUNKLINE_SEED: "none" };
  const service = await startService({ ...env, DATA_DIR: data_dir });
  const app = openBenchApp(database_url);
  // A connection without a statement time-out.
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const account = await makeAccount(app);
  const campaign_id = await fill(app, account, db, rows);
  const selects = selectsOf(account.account_id, campaign_id);
  const readOne = async (sql: string) => (await db.query<{ value: string }>(sql)).rows[0]!.value;
  const api = `${service.url}/api/v1`;
  return {
    service,
    token: account.token,
    exports: {
      recipients: { url: `${api}/chat/campaigns/${campaign_id}/recipients/export` },
      calls: { url: `${api}/calls/export` },
    },
    async copy(name) {
      const began = performance.now();
      const copied = `\\copy (${selects[name]}) to '/dev/null' with (format csv, header)`;
      await runTool("psql", ["-qc", copied, database_url]);
      return (performance.now() - began) / 1_000;
    },
    transactions: async () => Number(await readOne(open_transactions)),
    async close() {
      await service.dispose();
      await db.end();
      await app.close();
    },
  };
}

async function fill(
  app: ReturnType<typeof openBenchApp>,
  account: TestAccount,
  db: pg.Client,
  rows: number,
): Promise<number> {
  const { account_id, owner_id } = account;
  const number = await makeChatNumber(app, account);
  const template_id = await makeChatTemplate(app, account, number);
  const voice_file_id = await makeVoiceFile(app, account);
  const trunk = await makeSandboxTrunk(app, account);
  const chat = { chat_number_id: number.id, template_id };
  return fillAccount(db, { account_id, owner_id, voice_file_id, ...trunk, ...chat }, rows);
}

const open_transactions = `
  select count(*) as value from pg_stat_activity
  where datname = current_database() and state like 'idle in transaction%'`;

function selectsOf(account_id: number, campaign_id: number): Record<Name, string> {
  return {
    recipients: `
      select id, phone, state, dispatches, error_code, error, provider_message_id, dispatched_at, accepted_at,
        sent_at, delivered_at, read_at, ended_at, variables
      from chat_recipients where account_id = ${account_id} and campaign_id = ${campaign_id} order by id`.replaceAll(
      "\n",
      " ",
    ),
    calls: `
      select c.*, p.reference, p.source, p.remark, p.policy_applied, v.name, l.legs
      from calls c
      left join click_to_calls p on p.account_id = c.account_id and p.campaign_id = c.campaign_id
      left join voice_campaigns v on v.account_id = c.account_id and v.id = c.campaign_id
      cross join lateral (
        select json_agg(l order by l.id) as legs from call_legs l
        where l.account_id = c.account_id and l.call_id = c.id) l
      where c.account_id = ${account_id} order by c.queued_at desc, c.id desc`.replaceAll(
      "\n",
      " ",
    ),
  };
}
