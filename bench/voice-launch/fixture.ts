// One service that places no calls, and the same recipients as a CSV file and as input of \copy.
import { openAsBlob } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { makeSandboxTrunk } from "../../test/support/telephony-factory.ts";
import { makeAccount } from "../../test/support/account-factory.ts";
import { startService, type ServiceProcess } from "../../test/support/service-process.ts";
import { makeFullVoiceFile } from "../../test/support/voice-file-factory.ts";
import { runTool } from "../lib/run-tool.ts";
import { writeLines } from "../lib/write-lines.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

export type Fixture = {
  /** A connection without a statement time-out. */
  readonly db: pg.Client;
  readonly service: ServiceProcess;
  /** Each launches one campaign, or copies its rows, and returns the duration in seconds. */
  readonly launch: () => Promise<number>;
  readonly copy: () => Promise<number>;
  close(): Promise<void>;
};

export async function openFixture(
  database_url: string,
  dataDir: string,
  rows: number,
): Promise<Fixture> {
  const env = { DATABASE_URL: database_url, ROLES: "api", TRUNKLINE_SEED: "none" };
  const service = await startService({ ...env, DATA_DIR: join(dataDir, "service") });
  const app = openBenchApp(database_url);
  const db = new pg.Client({ connectionString: database_url });
  await db.connect();
  const account = await makeAccount(app);
  await makeSandboxTrunk(app, account);
  const fields = {
    campaign_name: "Bench",
    voice_file_id: String(await makeFullVoiceFile(app, account)),
    call_type: "obd_smartvoice",
    sendTo: "csv",
    csv_number_column: "phone",
  };
  const csv = join(dataDir, "people.csv");
  await writeLines(csv, rows, (i) => `+91 ${numberOf(i)},Person ${i},Pune`, "phone,name,city");
  const lines = join(dataDir, "people.copy");
  const shared = `${account.account_id}\t999\tsynthesizing\t${new Date().toISOString()}`;
  await writeLines(lines, rows, (i) => {
    const variables = JSON.stringify({ name: `Person ${i}` });
    return `${shared}\t${i + 1}\t${numberOf(i)}\t91${numberOf(i)}\tAsia/Calcutta\t${variables}`;
  });
  return {
    db,
    service,
    async launch() {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set("file", await openAsBlob(csv), "people.csv");
      const began = performance.now();
      const answer = await service.send("POST", "/api/v1/voice/voiceCampaign", {
        token: account.token,
        raw: form,
      });
      if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
      return (performance.now() - began) / 1_000;
    },
    async copy() {
      const began = performance.now();
      const table =
        "voice_recipients (account_id, campaign_id, state, due_at, id, number, phone, time_zones, variables)";
      await runTool("psql", ["-qc", `\\copy ${table} from '${lines}'`, database_url]);
      return (performance.now() - began) / 1_000;
    },
    async close() {
      await service.dispose();
      await db.end();
      await app.close();
    },
  };
}

function numberOf(i: number): string {
  return String(9_000_000_000 + i);
}
