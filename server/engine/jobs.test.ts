import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { testClock, type TestClock } from "../../test/support/clock.ts";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { passTime } from "../../test/support/pass-time.ts";
import { openDatabase } from "../lib/database/database.ts";
import { openLog } from "../lib/log.ts";
import { systemRandom } from "../lib/random.ts";
import { job_queues } from "../job-queues.ts";
import { openAccountPlaces } from "./account-places.ts";
import { addJob, job_kinds, notifyJob, type NewJob } from "./add-job.ts";
import type { App } from "./app.ts";
import { openNotifications } from "./notifications.ts";
import { isLeaseLost } from "./leases.ts";
import { queueAge } from "./queue-age.ts";
import { runLoop } from "./run-loop.ts";
import { checkJob, workJobs, type Job, type JobHandler } from "./work-jobs.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";
import { testSecrets } from "../../test/support/secrets.ts";

const log = openLog("silent", { readable: false });
const noon = new Date("2026-03-01T12:00:00Z");
const later = (minutes: number) => new Date(noon.getTime() + minutes * 60_000);
/** Long enough for pauses of a busy machine, and renewed often enough to detect a lost claim quickly. */
const times = { lease_ms: 60_000, renew_ms: 50, margin_ms: 4_000 };
const going = new AbortController().signal;
let database: TestDatabase;
let clock: TestClock;
let app: App;

before(async () => {
  database = await cloneDatabase();
  const db = openDatabase(database.url, log);
  clock = testClock();
  app = {
    db,
    log,
    clock,
    random: systemRandom,
    notifications: openNotifications(database.url, log),
    chatDrivers: {},
    voiceDrivers: {},
    aiAgentDrivers: {},
    speech: toneSpeech,
    outgoing: localOutgoing,
    secrets: testSecrets,
  };
});
beforeEach(async () => {
  clock.set(noon);
  await app.db.pool.query("delete from jobs");
});
after(async () => {
  await app.db.close();
  await app.notifications.close();
  await database.drop();
});

const job = (more: Partial<NewJob> = {}): NewJob => ({
  account_id: 1,
  kind: "chat.start_campaign",
  subject: "7",
  run_at: noon,
  ...more,
});
const add = (more: Partial<NewJob> = {}) => addJob(app.db.query, job(more), clock.now());
const open = async () =>
  app.db.query
    .selectFrom("jobs")
    .select(["account_id", "kind", "subject", "run_at", "attempts", "payload", "lease_until"])
    .orderBy("id")
    .execute();
const onlyOpen = async () => {
  const jobs = await open();
  assert.equal(jobs.length, 1);
  return jobs[0]!;
};
/** Runs one iteration that starts campaigns by `handle`. */
const iterate = (handle: JobHandler) =>
  workJobs(app, { "chat.start_campaign": handle }, going, { times });
/** Expires every current claim. */
const expireClaims = () =>
  app.db.pool.query(
    "update jobs set lease_until = now() - interval '1 s' where lease_until > now()",
  );

test("runs a due job once, with its payload, and deletes it", async () => {
  await add({ payload: { reason: "launch" } });
  await add({ account_id: 2, subject: "8", run_at: later(1) });
  const ran: Job[] = [];
  assert.equal(await iterate(async (_app, claimed) => void ran.push(claimed)), 1);
  assert.equal(ran.length, 1);
  const { id, mayProceed, ...fields } = ran[0]!;
  assert.ok(id > 0);
  assert.ok(!mayProceed());
  assert.deepEqual(fields, {
    account_id: 1,
    kind: "chat.start_campaign",
    subject: "7",
    payload: { reason: "launch" },
    attempts: 1,
    fence: 1,
  });
  assert.equal(await iterate(async () => assert.fail("it ran twice")), 0);
  clock.set(later(1));
  assert.equal(await iterate(async (_app, claimed) => assert.equal(claimed.subject, "8")), 1);
  assert.deepEqual(await open(), []);
});

test("keeps one open job per account, kind and subject, with the earlier time and the newer payload", async () => {
  await add({ run_at: later(5), payload: { n: 1 } });
  await add({ run_at: later(3), payload: { n: 2 } });
  await add({ run_at: later(9), payload: { n: 3 } });
  const { run_at, payload } = await onlyOpen();
  assert.deepEqual([run_at, payload], [later(3), { n: 3 }]);
  await add({ subject: "8" });
  await add({ kind: "chat.settle_unknown" });
  await add({ account_id: 2 });
  assert.equal((await open()).length, 4);
});

test("adding the same job twenty times concurrently creates one job", async () => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => add({ run_at: later(20 - i) })));
  assert.deepEqual((await onlyOpen()).run_at, later(1));
});

test("a job added in a transaction that rolls back does not exist", async () => {
  const rolled = app.db.query.transaction().execute(async (tx) => {
    await addJob(tx, job(), noon);
    throw new Error("rolled back");
  });
  await assert.rejects(rolled, /rolled back/);
  assert.deepEqual(await open(), []);
});

test("a job that is added again while it runs, runs again at the requested time", async () => {
  await add();
  await iterate(async () => add({ run_at: later(2), payload: { again: true } }));
  const { run_at, payload, lease_until } = await onlyOpen();
  assert.deepEqual([run_at, payload, lease_until], [later(2), { again: true }, null]);
  clock.set(later(2));
  assert.equal(await iterate(async () => {}), 1);
  assert.deepEqual(await open(), []);
});

test("a handler's again_at reschedules the job and resets its attempts", async () => {
  await add();
  await iterate(async () => {
    throw new Error("a first failure");
  });
  clock.set(later(1));
  await iterate(async () => ({ again_at: later(30) }));
  const { run_at, attempts } = await onlyOpen();
  assert.deepEqual([run_at, attempts], [later(30), 0]);
});

test("a job that fails is retried with a backoff of up to ten minutes and is never dropped", async () => {
  await add();
  const delays_s: number[] = [];
  for (let attempt = 1; attempt <= 14; attempt++) {
    assert.equal(
      await iterate(async (_app, { attempts }) => {
        assert.equal(attempts, attempt);
        throw new Error("not yet");
      }),
      1,
    );
    const { run_at } = await onlyOpen();
    delays_s.push((run_at.getTime() - clock.now().getTime()) / 1_000);
    clock.set(run_at);
  }
  for (const [i, delay] of delays_s.entries()) {
    const most = Math.min(600, 2 ** i);
    assert.ok(delay >= most / 2 - 0.002 && delay <= most, `retry ${i + 1} after ${delay} s`);
  }
  assert.equal(await iterate(async () => {}), 1);
  assert.deepEqual(await open(), []);
});

test("a job is left to the workers that have a handler for its kind", async () => {
  await add({ kind: "chat.sync_templates" });
  assert.equal(await iterate(async () => assert.fail("it is of another kind")), 0);
  const { run_at, attempts, lease_until } = await onlyOpen();
  assert.deepEqual([run_at, attempts, lease_until], [noon, 0, null]);
});

test("every kind of job belongs to one queue of the worker", () => {
  const kinds = job_queues.flatMap(({ handlers }) => Object.keys(handlers));
  assert.deepEqual(kinds.toSorted(), [...job_kinds].toSorted());
});

test("four workers run two hundred jobs of three accounts once each", async () => {
  for (let i = 0; i < 200; i++) await add({ account_id: 1 + (i % 3), subject: String(i) });
  const runs = new Map<string, number>();
  const work = async () => {
    const count: JobHandler = async (_app, { subject }) =>
      void runs.set(subject, (runs.get(subject) ?? 0) + 1);
    while ((await iterate(count)) > 0);
  };
  await Promise.all([work(), work(), work(), work()]);
  assert.equal(runs.size, 200);
  assert.deepEqual(new Set(runs.values()), new Set([1]));
  assert.deepEqual(await open(), []);
});

test("an account's backlog does not hide the job of another account", async () => {
  await app.db.pool.query(
    `
    insert into jobs (account_id, kind, subject, run_at, created_at)
    select 1, 'chat.start_campaign', i::text, $1, $1 from generate_series(1, 3000) i`,
    [later(-60)],
  );
  await add({ account_id: 2, subject: "other" });
  const ran: string[] = [];
  await iterate(async (_app, { subject }) => void ran.push(subject));
  assert.ok(ran.includes("other"));
});

test("an account's slow jobs do not delay another account's job", async () => {
  for (const subject of ["1", "2", "3"]) await add({ subject });
  await add({ account_id: 2, subject: "4" });
  const done: string[] = [];
  const handle: JobHandler = async (_app, { subject }) => void done.push(subject);
  const handlers = { "chat.start_campaign": handle };
  assert.equal(await workJobs(app, handlers, going, { times, ms_max: 0 }), 2);
  assert.deepEqual([done.length, done.includes("4")], [2, true]);
});

test("an account never has all loops of a queue, however long its jobs take", async () => {
  for (const subject of ["1", "2", "3"]) await add({ subject });
  await add({ account_id: 2, subject: "4", run_at: later(0.5) });
  clock.set(later(1));
  const { promise: end, resolve: letEnd } = Promise.withResolvers<void>();
  const { promise: other, resolve: otherDone } = Promise.withResolvers<void>();
  let running = 0;
  let running_max = 0;
  const handle: JobHandler = async (_app, { account_id }) => {
    if (account_id === 2) return otherDone();
    running_max = Math.max(running_max, ++running);
    await end;
    running--;
  };
  const places = openAccountPlaces(1);
  const work = () =>
    workJobs(app, { "chat.start_campaign": handle }, going, { times, ms_max: 0, places });
  const loops = [work(), work()];
  await other;
  letEnd();
  await Promise.all(loops);
  while ((await work()) > 0);
  assert.equal(running_max, 1);
  assert.deepEqual(await open(), []);
});

test("an account's backlog of one kind does not hide another account's job of another kind", async () => {
  await app.db.pool.query(
    `insert into jobs (account_id, kind, subject, run_at, created_at)
     select 1 + i % 2, 'chat.start_campaign', i::text, $1, $1 from generate_series(1, 2400) i`,
    [later(-60)],
  );
  await add({ account_id: 2, kind: "voice.start_campaign", subject: "other" });
  const ran: string[] = [];
  const handle: JobHandler = async (_app, { subject }) => void ran.push(subject);
  const handlers = { "chat.start_campaign": handle, "voice.start_campaign": handle };
  assert.equal(await workJobs(app, handlers, going, { times, ms_max: 60_000 }), 21);
  assert.ok(ran.includes("other"));
});

test("a handler that takes longer than the lease keeps its claim by renewing it", async (t) => {
  await add();
  const pass = passTime(t);
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: end, resolve: letEnd } = Promise.withResolvers<void>();
  const running = iterate(async (_app, claimed, stopping) => {
    begin();
    await end;
    assert.ok(claimed.mayProceed());
    assert.ok(!stopping.aborted);
  });
  await begun;
  for (let passed_ms = 0; passed_ms < 1.5 * times.lease_ms; passed_ms += 30_000) {
    pass(30_000);
    // The worker has received the result of a renewal that began since; see leases.test.ts.
    for (let seen = 0; seen < 4; seen++) await eventually(isRenewed);
    assert.equal(await iterate(async () => assert.fail("it ran twice at once")), 0);
  }
  letEnd();
  assert.equal(await running, 1);
  assert.deepEqual(await open(), []);
});

/** Returns whether the claim was renewed since the last call, and then halves its remaining time. */
async function isRenewed(): Promise<boolean> {
  const { rowCount } = await app.db.pool.query(
    `update jobs set lease_until = now() + interval '30 s'
    where lease_until > now() + interval '45 s'`,
  );
  return rowCount === 1;
}

test("a worker that lost its claim is notified, writes nothing and does not complete the job", async () => {
  await add();
  let isAborted = false;
  await iterate(async (_app, claimed, stopping) => {
    await app.db.query.transaction().execute((tx) => checkJob(tx, claimed));
    await expireClaims();
    const refused = app.db.query.transaction().execute((tx) => checkJob(tx, claimed));
    await assert.rejects(refused, isLeaseLost);
    // Another worker's complete run, with a new fencing token.
    await iterate(async (_other, { fence }) => {
      assert.equal(fence, claimed.fence + 1);
      return { again_at: later(7) };
    });
    await eventually(() => stopping.aborted);
    isAborted = true;
    assert.ok(!claimed.mayProceed());
  });
  assert.ok(isAborted);
  assert.deepEqual((await onlyOpen()).run_at, later(7));
});

test("a run that fails after losing its claim does not postpone the job", async () => {
  await add();
  await iterate(async () => {
    await expireClaims();
    await iterate(async () => ({ again_at: later(7) }));
    throw new Error("too late");
  });
  const { run_at, attempts } = await onlyOpen();
  assert.deepEqual([run_at, attempts], [later(7), 0]);
});

test("a job is not claimed while a transaction that checked its previous claim is open", async () => {
  await add();
  await iterate(async (_app, claimed) => {
    await app.db.query.transaction().execute(async (tx) => {
      await checkJob(tx, claimed);
      // The claim has expired, but the row is locked.
      await expireClaims();
      assert.equal(await iterate(async () => assert.fail("it ran twice at once")), 0);
    });
    // The job can be claimed when that transaction ends.
    assert.equal(await iterate(async () => ({ again_at: later(1) })), 1);
  });
  clock.set(later(1));
  assert.equal(await iterate(async () => {}), 1);
  assert.deepEqual(await open(), []);
});

test("a stop lets the running job finish and starts no other", async () => {
  for (let i = 0; i < 5; i++) await add({ subject: String(i) });
  const stop = new AbortController();
  const handle: JobHandler = async (_app, _job, stopping) => {
    stop.abort();
    assert.ok(stopping.aborted);
    return { again_at: noon };
  };
  assert.equal(await workJobs(app, { "chat.start_campaign": handle }, stop.signal, { times }), 1);
  assert.equal((await open()).filter(({ attempts }) => attempts === 0).length, 5);
});

test("a notification after the commit runs a job long before the next poll", async () => {
  const ran: string[] = [];
  const handle: JobHandler = async (_app, { subject }) => void ran.push(subject);
  const loop = runLoop(app, {
    name: "jobs",
    channel: "job",
    poll_ms: 3_600_000,
    iterate: (stopping) => workJobs(app, { "chat.start_campaign": handle }, stopping),
  });
  await add();
  notifyJob(app, 1);
  await eventually(() => ran.length === 1);
  await loop.stop();
});

test("the queue age is that of the oldest due job without a worker", async () => {
  const age = () => queueAge(app.db.query, clock.now());
  assert.equal(await age(), 0);
  await add({ run_at: later(1) });
  assert.equal(await age(), 0);
  await add({ run_at: later(-2), subject: "old" });
  assert.equal(await age(), 120);
  clock.set(later(3));
  assert.equal(await age(), 300);
  await app.db.pool.query(
    "update jobs set lease_until = now() + interval '1 min' where subject = 'old'",
  );
  assert.equal(await age(), 120);
});
