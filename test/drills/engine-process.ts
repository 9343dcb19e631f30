// A worker process of the engine drill that the test kills and freezes. It records its work in the
// drill_* tables, in which the test looks for overlaps. Ends with its parent.
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import { addJob } from "../../server/engine/add-job.ts";
import type { App } from "../../server/engine/app.ts";
import { openNotifications } from "../../server/engine/notifications.ts";
import { acquireLease, isLeaseLost, type Lease } from "../../server/engine/leases.ts";
import { relayEvents } from "../../server/engine/relay-events.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { checkJob, workJobs, type JobHandler } from "../../server/engine/work-jobs.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { systemRandom } from "../../server/lib/random.ts";
import { openDatabase, type Tx } from "../../server/lib/database/database.ts";
import { openLog } from "../../server/lib/log.ts";
import { localOutgoing } from "../support/local-outgoing.ts";
import { toneSpeech } from "../support/tone-speech.ts";
import { testSecrets } from "../support/secrets.ts";

const [role, name] = process.argv.slice(2);
const url = process.env["DATABASE_URL"]!;
const log = openLog("silent", { readable: false });
const db = openDatabase(url, log);
const app: App = {
  db,
  log,
  clock: systemClock,
  random: systemRandom,
  notifications: openNotifications(url, log),
  chatDrivers: {},
  voiceDrivers: {},
  aiAgentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
  secrets: testSecrets,
};
const times = { lease_ms: 1_500, renew_ms: 300, margin_ms: 500 };
const never_stops = new AbortController().signal;
process.stdin.resume().on("end", () => process.exit());

/** Prints one line for the test. */
const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Writes as a lease holder: the transaction checks the fencing token. */
async function write(lease: Lease): Promise<void> {
  await db.query.transaction().execute(async (tx: Tx) => {
    await sql`insert into drill_writes (lease, fence, process)
      values (${lease.name}, ${lease.fence}, ${name})`.execute(tx);
    await sql`select check_lease(${lease.account_id}, ${lease.name}, ${lease.fence})`.execute(tx);
  });
}

/** Acquires the drill's lease again and again, and writes while it holds it. */
async function hold(): Promise<void> {
  for (;;) {
    const lease = await acquireLease(app, 1, "drill", times).catch(() => null);
    if (lease) await writeWhileHeld(lease);
    await pause(20);
  }
}

async function writeWhileHeld(lease: Lease): Promise<void> {
  print(`acquired ${lease.fence}`);
  while (lease.mayProceed()) {
    try {
      await write(lease);
    } catch (error) {
      if (isLeaseLost(error)) print(`refused ${lease.fence}`);
    }
    await pause(5);
  }
  print(`ended ${lease.fence}`);
  // A holder that does not check its lease must be refused.
  await write(lease).then(
    () => print(`wrote ${lease.fence}`),
    (error: unknown) =>
      print(isLeaseLost(error) ? `refused ${lease.fence}` : `failed ${lease.fence}`),
  );
  await lease.release();
}

/** Records the begin and the end of the run, each in a transaction that checks the claim. */
const run: JobHandler = async (_app, job, stopping) => {
  const note = (what: "begin" | "end") =>
    db.query.transaction().execute(async (tx) => {
      await sql`insert into drill_runs (subject, fence, what)
        values (${job.subject}, ${job.fence}, ${what})`.execute(tx);
      await checkJob(tx, job);
    });
  await note("begin");
  await pause(Math.random() * 60);
  if (stopping.aborted) throw new Error("the claim is lost");
  await note("end");
};

const workers: Readonly<Record<string, () => Promise<void>>> = {
  hold,
  jobs: async () => {
    for (let i = 0; i < 3; i++) {
      const iterate = () => workJobs(app, { "chat.start_campaign": run }, never_stops, { times });
      runLoop(app, { name: "jobs", poll_ms: 50, iterate });
    }
  },
  relay: async () => {
    runLoop(app, { name: "relay", poll_ms: 10, iterate: (stop) => relayEvents(app, stop) });
  },
  // Writes a job and an event of one subject in one transaction; prints the subject after the commit.
  write: async () => {
    for (let i = 0; ; i++) {
      const subject = `${name}:${i}`;
      try {
        await db.query.transaction().execute(async (tx) => {
          const now = new Date();
          await sql`insert into events (account_id, type, occurred_at, data)
            values (1, 'lead.created', ${now}, ${JSON.stringify({ subject })})`.execute(tx);
          await addJob(
            tx,
            { account_id: 1, kind: "chat.start_campaign", subject, run_at: now },
            now,
          );
          await pause(Math.random() * 10);
        });
        print(`committed ${subject}`);
      } catch {
        await pause(50);
      }
    }
  },
};

print("ready");
await workers[role!]!();
