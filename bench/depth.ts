// Fills a database with one heavy and many small accounts, to read plans at depth:
// `npm --prefix bench run depth -- postgres://… [--rows 2000000] [--small 300]`; the database must be empty.
import { parseArgs } from "node:util";
import pg from "pg";
import { migrate } from "../server/lib/database/migrate.ts";
import { makeSandboxTrunk } from "../test/support/telephony-factory.ts";
import { makeChatNumber, makeChatTemplate } from "../test/support/chat-factory.ts";
import { makeAccount } from "../test/support/account-factory.ts";
import { fillDepth } from "../test/support/fill-depth.ts";
import { openBenchApp } from "./lib/open-bench-app.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: "string", default: "2000000" },
    small: { type: "string", default: "300" },
  },
});
const url = positionals[0];
if (!url) throw new Error("the URL of an empty database is missing");

await migrate(url);
const app = openBenchApp(url);
const account = await makeAccount(app);
const number = await makeChatNumber(app, account);
const template_id = await makeChatTemplate(app, account, number);
const trunk = await makeSandboxTrunk(app, account);
await app.close();
// A connection without a statement time-out.
const db = new pg.Client({ connectionString: url });
await db.connect();
const heavy = { ...account, ...trunk, chat_number_id: number.id, template_id };
const depth = { rows: Number(values.rows), small_accounts: Number(values.small) };
await fillDepth(db, heavy, depth);
await db.query("analyze");
console.log(`account ${heavy.account_id}, workspace ${heavy.workspace_id}`);
await db.end();
