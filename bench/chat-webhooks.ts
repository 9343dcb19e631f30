// Measures how fast inbound webhooks are stored, compared with a no-op POST on the same server, and applied:
// `npm --prefix bench run chat-webhooks`; `-- --smoke` for a small run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { applyWebhooks } from "../server/chat/inbound/apply-webhooks.ts";
import { migrate } from "../server/lib/database/migrate.ts";
import { openFixture, type Fixture } from "./chat-webhooks/fixture.ts";
import { postOpenLoop } from "./chat-webhooks/open-loop.ts";
import { reportWebhooks, type Round } from "./chat-webhooks/report.ts";
import { rotate } from "./lib/rotate.ts";
import { median, percentile } from "./lib/figures.ts";
import { runTool } from "./lib/run-tool.ts";
import { runBench, type Bench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke
  ? { recipients: 300, rounds: 1, warm_seconds: 1, seconds: 1, open_seconds: 1 }
  : { recipients: 20_000, rounds: 5, warm_seconds: 5, seconds: 5, open_seconds: 15 };
const connections = 128;

await runBench("chat-webhooks", smoke, measure);

async function measure({ data_dir, postgres, machine, defer }: Bench): Promise<string> {
  await migrate(postgres.url);
  const fixture = await openFixture(postgres.url, join(data_dir, "webhooks"), size.recipients);
  defer(() => fixture.close());
  const receiving = await startServer(postgres.url, {});
  defer(() => receiving.stop());
  const rounds: Round[] = [];
  await post(fixture, receiving, "/hooks/whatsapp", size.warm_seconds);
  for (let i = 1; i <= size.rounds; i++) {
    rounds.push(await runRound(fixture, receiving, i));
  }
  // The one second of a small run may pass without a response while the disk stalls.
  const rate = Math.max(100, 0.7 * median(rounds.map(({ hooks }) => hooks)));
  await empty(fixture);
  const times_ms = await postOpenLoop(receiving.url, fixture.file, {
    rate,
    seconds: size.open_seconds,
  });
  const open_loop = {
    rate,
    p50_ms: percentile(times_ms, 50),
    p99_ms: percentile(times_ms, 99),
  };
  const applied_per_second = await applyBacklog(fixture, receiving);
  await checkInvariants(fixture);
  return reportWebhooks({ rounds, open_loop, applied_per_second }, machine);
}

type Server = { readonly url: string; stop(): Promise<void> };

async function startServer(database_url: string, env: Record<string, string>): Promise<Server> {
  const script = join(import.meta.dirname, "chat-webhooks/server.ts");
  const child = spawn(process.execPath, [script], {
    env: { PATH: process.env["PATH"], DATABASE_URL: database_url, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  child.stdout.pipe(process.stdout);
  return {
    url: line.toString().trim(),
    async stop() {
      const end = once(child, "exit");
      child.kill();
      await end;
    },
  };
}

/** Runs each contender once, with an empty inbox and a fresh checkpoint; each round starts with a different one. */
async function runRound(fixture: Fixture, receiving: Server, number: number): Promise<Round> {
  const round: Record<string, number> = {};
  const contenders: [keyof Round, () => Promise<number>][] = [
    ["hello", () => post(fixture, receiving, "/hello", size.seconds)],
    ["hooks", () => post(fixture, receiving, "/hooks/whatsapp", size.seconds)],
    ["hooks_while_applied", () => postWhileApplied(fixture)],
  ];
  for (const [name, run] of rotate(contenders, number)) {
    await empty(fixture);
    round[name] = await run();
    console.log(`round ${number} ${name}: ${Math.round(round[name])}/s`);
  }
  return round as Round;
}

/** Uses a separate server for this run, because it would apply the webhooks of the other contenders. */
async function postWhileApplied(fixture: Fixture): Promise<number> {
  const applying = await startServer(fixture.database_url, { APPLY: "1" });
  await post(fixture, applying, "/hooks/whatsapp", size.warm_seconds);
  const rate = await post(fixture, applying, "/hooks/whatsapp", size.seconds);
  await applying.stop();
  return rate;
}

async function empty({ db }: Fixture): Promise<void> {
  await db.query("truncate chat_inbox");
  await db.query("checkpoint");
}

/** Returns webhooks per second over 128 connections; throws unless each got status 200. */
async function post(
  fixture: Fixture,
  server: Server,
  path: string,
  seconds: number,
): Promise<number> {
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"];
  const script = join(import.meta.dirname, "chat-webhooks/post-hooks.lua");
  const output = await runTool("wrk", [
    ...args,
    "-s",
    script,
    server.url,
    "--",
    path,
    fixture.file,
  ]);
  const figures = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Record<
    "seconds" | "answers" | "refused" | "broken",
    number
  >;
  if (figures.refused + figures.broken > 0)
    throw new Error(`not every request succeeded:\n${output}`);
  return figures.answers / figures.seconds;
}

/** Stores every webhook of the file and then applies them without other load; returns webhooks per second. */
async function applyBacklog(fixture: Fixture, receiving: Server): Promise<number> {
  await empty(fixture);
  await resetStatuses(fixture);
  const { app, db } = fixture;
  const webhooks = 3 * fixture.recipients;
  await postOpenLoop(receiving.url, fixture.file, { rate: 2_000, seconds: webhooks / 2_000 });
  const { rows } = await db.query<{ count: string }>(
    "select sum(json_array_length(body)) as count from chat_inbox",
  );
  if (Number(rows[0]?.count) !== webhooks)
    throw new Error(`${rows[0]?.count} of ${webhooks} webhooks are stored`);
  await db.query("checkpoint");
  const began_ms = performance.now();
  let applied = 0;
  while (applied < webhooks) applied += await applyWebhooks(app, new AbortController().signal);
  return (webhooks * 1_000) / (performance.now() - began_ms);
}

/** Resets every message to accepted. */
async function resetStatuses({ db, account_id, campaign_id }: Fixture): Promise<void> {
  const ids = [account_id, campaign_id];
  await db.query(
    `update chat_recipients set state = 'accepted', sent_at = null, delivered_at = null, read_at = null
     where account_id = $1 and campaign_id = $2`,
    ids,
  );
  await db.query(
    "delete from chat_counts where account_id = $1 and campaign_id = $2 and slot = 'inbound'",
    ids,
  );
  await db.query("vacuum analyze chat_recipients");
}

/** Throws unless every message is read and the counts match. */
async function checkInvariants({
  db,
  account_id,
  campaign_id,
  recipients,
}: Fixture): Promise<void> {
  const { rows } = await db.query<{ there: string; counted: string }>(
    `select (select count(*) from chat_recipients
       where account_id = $1 and campaign_id = $2 and state = 'read') as there,
     (select sum(read) from chat_counts where account_id = $1 and campaign_id = $2) as counted`,
    [account_id, campaign_id],
  );
  const [found] = rows;
  if (Number(found?.there) !== recipients || Number(found?.counted) !== recipients)
    throw new Error(`${recipients} messages should be read, found ${JSON.stringify(found)}`);
}
