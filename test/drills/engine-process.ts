// A worker of the engine's drill, as a process of its own that can be killed and frozen. It writes
// down in drill_* tables what it does, so that the test can tell what overlapped. Ends with its parent.
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
  agentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
};
const times = { lease_ms: 1_500, renew_ms: 300, margin_ms: 500 };
const going = new AbortController().signal;
process.stdin.resume().on("end", () => process.exit());

/** One line for the test, written at once. */
const tell = (line: string) => void process.stdout.write(`${line}\n`);

/** The transaction of a holder: the fence is checked where the write is. */
async function write(lease: Lease): Promise<void> {
  await db.query.transaction().execute(async (tx: Tx) => {
    await sql`insert into drill_writes (lease, fence, process)
      values (${lease.name}, ${lease.fence}, ${name})`.execute(tx);
    await sql`select check_lease(${lease.account_id}, ${lease.name}, ${lease.fence})`.execute(tx);
  });
}

/** Holds the one lease as long as it can, and writes under it. */
async function hold(): Promise<void> {
  for (;;) {
    const lease = await acquireLease(app, 1, "drill", times).catch(() => null);
    if (lease) await act(lease);
    await pause(20);
  }
}

async function act(lease: Lease): Promise<void> {
  tell(`took ${lease.fence}`);
  while (lease.mayAct()) {
    try {
      await write(lease);
    } catch (error) {
      if (isLeaseLost(error)) tell(`refused ${lease.fence}`);
    }
    await pause(5);
  }
  tell(`ended ${lease.fence}`);
  // What a holder that did not ask would do: it must be refused, not harm.
  await write(lease).then(
    () => tell(`wrote ${lease.fence}`),
    (error: unknown) =>
      tell(isLeaseLost(error) ? `refused ${lease.fence}` : `failed ${lease.fence}`),
  );
  await lease.release();
}

/** Notes the run's begin and end, each in a transaction that checks the claim. */
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
      const turn = () => workJobs(app, { "chat.start_campaign": run }, going, times);
      runLoop(app, { name: "jobs", poll_ms: 50, turn });
    }
  },
  relay: async () => {
    runLoop(app, { name: "relay", poll_ms: 10, turn: (stop) => relayEvents(app, stop) });
  },
  // Jobs and events of one subject, in one transaction; told when it is committed.
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
        tell(`committed ${subject}`);
      } catch {
        await pause(50);
      }
    }
  },
};

tell("ready");
await workers[role!]!();
