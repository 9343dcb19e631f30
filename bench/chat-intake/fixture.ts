// One service without senders, and the same rows as a JSON body, as a CSV file and as input of \copy.
import { openAsBlob } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { makeChatNumber, makeChatTemplate } from "../../test/support/chat-factory.ts";
import { makeAccount, makeCredits, unique } from "../../test/support/account-factory.ts";
import { startService, type ServiceProcess } from "../../test/support/service-process.ts";
import { runTool } from "../lib/run-tool.ts";
import { writeLines } from "../lib/write-lines.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

export type Fixture = {
  /** A connection without a statement time-out. */
  readonly db: pg.Client;
  readonly service: ServiceProcess;
  /** Each creates one campaign, or copies its rows, and returns the duration in seconds. */
  readonly postJson: () => Promise<number>;
  readonly postCsv: () => Promise<number>;
  readonly copy: (kind: "json" | "csv") => Promise<number>;
  close(): Promise<void>;
};

type Sizes = { readonly json: number; readonly csv: number };

export async function openFixture(
  database_url: string,
  dataDir: string,
  rows: Sizes,
): Promise<Fixture> {
  const env = { DATABASE_URL: database_url, ROLES: "api", TRUNKLINE_SEED: "none" };
  const service = await startService({ ...env, DATA_DIR: join(dataDir, "service") });
  const app = openBenchApp(database_url);
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 1_000_000_000 });
  const number = await makeChatNumber(app, account);
  const template_id = await makeChatTemplate(app, account, number);
  const head = { name: "Bench", chat_number_id: number.id, template_id };
  const contacts = Array.from({ length: rows.json }, (_, i) => personOf(i));
  const body = JSON.stringify({ ...head, contacts });
  const csv = join(dataDir, "people.csv");
  await writeLines(csv, rows.csv, (i) => `${phoneOf(i)},Person ${i},Pune`, "phone,1,city");
  const lines = { json: join(dataDir, "json.copy"), csv: join(dataDir, "csv.copy") };
  for (const kind of ["json", "csv"] as const) {
    await writeLines(lines[kind], rows[kind], (i) => {
      const { phone_number, variables } = personOf(i);
      return `${account.account_id}\t999\t${phone_number}\t${JSON.stringify(variables)}`;
    });
  }
  const post = async (path: string, sent: string | FormData, type: Record<string, string>) => {
    const began = performance.now();
    const answer = await service.send("POST", `/api/v1/chat/campaigns${path}`, {
      token: account.token,
      raw: sent,
      headers: { ...type, "idempotency-key": unique(`bench-${Date.now()}`) },
    });
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
    return (performance.now() - began) / 1_000;
  };
  return {
    db,
    service,
    postJson: () => post("", body, { "content-type": "application/json" }),
    async postCsv() {
      const form = new FormData();
      for (const [name, value] of Object.entries(head)) form.set(name, String(value));
      form.set("file", await openAsBlob(csv), "people.csv");
      return post("/csv", form, {});
    },
    async copy(kind) {
      const began = performance.now();
      const table = "chat_recipients (account_id, campaign_id, phone, variables)";
      await runTool("psql", ["-qc", `\\copy ${table} from '${lines[kind]}'`, database_url]);
      return (performance.now() - began) / 1_000;
    },
    async close() {
      await service.dispose();
      await db.end();
      await app.close();
    },
  };
}

function phoneOf(i: number): string {
  return String(919_000_000_000 + i);
}

function personOf(i: number) {
  return { phone_number: phoneOf(i), variables: { "1": `Person ${i}`, city: "Pune" } };
}
