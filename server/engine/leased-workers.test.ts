import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openDatabase, type Database } from "../lib/database/database.ts";
import { openLog } from "../lib/log.ts";
import {
  openLeasedWorkers,
  type Candidate,
  type FullAccounts,
  type PoolLimits,
} from "./leased-workers.ts";
import type { Lease, LeaseTimes } from "./leases.ts";

const log = openLog("silent", { readable: false });
/** Long enough for pauses of a busy machine. */
const long: LeaseTimes = { lease_ms: 60_000, renew_ms: 20_000, margin_ms: 4_000 };
/** Gives back after a short time. */
const short: LeaseTimes = { lease_ms: 60_000, renew_ms: 50, margin_ms: 4_000 };

let database: TestDatabase;
let db: Database;

before(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, log, { connections: 20 });
});
after(async () => {
  await db.close();
  await database.drop();
});

let roles = 0;
const newRole = () => `role_${++roles}`;

type Worker = { readonly lease: Lease; wakes: number; end(error?: Error): void };

/** A pool whose workers run until the test ends them, or the stop or the loss of the lease does. */
function fixture(
  of: {
    role?: string;
    times?: LeaseTimes;
    limits?: PoolLimits;
    due?: readonly Candidate[];
    findDue?: (full: FullAccounts) => readonly Candidate[] | Promise<readonly Candidate[]>;
    movable?: () => boolean;
  } = {},
) {
  const role = of.role ?? newRole();
  const workers = new Map<string, Worker>();
  const started: string[] = [];
  const findDue = async (full: FullAccounts) => of.findDue?.(full) ?? of.due ?? [];
  const pool = openLeasedWorkers(
    { db, log },
    {
      role,
      holder: randomUUID(),
      times: of.times ?? long,
      limits: of.limits ?? {},
      findDue,
      async work(lease, id, { stopping, onOpen }) {
        const key = `${lease.account_id}:${id}`;
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const end = (error?: Error) => (error ? reject(error) : resolve());
        const worker = { lease, wakes: 0, end };
        workers.set(key, worker);
        started.push(key);
        onOpen({
          isMovable: of.movable ?? (() => true),
          wake() {
            worker.wakes++;
            if (stopping.aborted) resolve();
          },
        });
        lease.lost.addEventListener("abort", () => resolve());
        await promise.finally(() => workers.delete(key));
      },
    },
  );
  const running = () => [...workers.keys()].toSorted();
  /** Calls startDue when the poll of a worker does. */
  const pollOnce = async () => {
    const due = await findDue({ all: [], failing: [] });
    if (due.length > 0 || pool.isActive()) await pool.startDue();
  };
  /** Calls startDue until these workers run. */
  const startUntil = (expected: readonly string[]) =>
    eventually(async () => {
      await pool.startDue();
      return running().join() === expected.join();
    });
  return { ...pool, role, workers, started, running, pollOnce, startUntil };
}

const candidates = (account_id: number, from: number, to: number): Candidate[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({ account_id, id: from + i }));

/** The names of the role's leases that are held. */
async function held(role: string, and = "true"): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    `select account_id || ' ' || name as name from leases
     where name like $1 || ':%' and holder is not null and ${and} order by 1`,
    [role],
  );
  return rows.map(({ name }) => name);
}

test("each candidate has one worker among all processes, under a lease that its end releases", async () => {
  const due = candidates(1, 1, 5);
  const first = fixture({ due });
  const second = fixture({ due, role: first.role });
  const startBoth = () => Promise.all([first.startDue(), second.startDue()]);
  await eventually(async () => {
    await startBoth();
    return first.workers.size + second.workers.size === 5;
  });
  await startBoth();
  const all = [...first.running(), ...second.running()].toSorted();
  assert.deepEqual(all, ["1:1", "1:2", "1:3", "1:4", "1:5"]);
  const names = all.map((key) => key.replace(":", ` ${first.role}:`));
  assert.deepEqual(await held(first.role), names);
  await eventually(async () => {
    // Acquisitions that were in flight may start a worker once more.
    for (const { end } of [...first.workers.values(), ...second.workers.values()]) end();
    return (await held(first.role)).length === 0;
  });
  // The share of a process that has stopped goes to the other.
  await first.stop();
  await second.startUntil(["1:1", "1:2", "1:3", "1:4", "1:5"]);
  await second.stop();
});

/** Pools of one role, each with the candidates whose lease is free. */
function pools(
  count: number,
  due: readonly Candidate[],
  { times = short, movable = (): boolean => true } = {},
) {
  const role = newRole();
  const findDue = async () => {
    const names = new Set(await held(role, "expires_at > now()"));
    return due.filter(({ account_id, id }) => !names.has(`${account_id} ${role}:${id}`));
  };
  return Array.from({ length: count }, () => fixture({ role, times, findDue, movable }));
}

const sizes = (of: readonly ReturnType<typeof fixture>[]) => of.map(({ workers }) => workers.size);

/** Polls for each pool until they have as many workers as `expected`, in any order. */
const balance = (of: readonly ReturnType<typeof fixture>[], expected: readonly number[]) =>
  eventually(async () => {
    await Promise.all(of.map((pool) => pool.pollOnce()));
    return (
      sizes(of)
        .toSorted((one, next) => one - next)
        .join() === expected.join()
    );
  });

test("a new process gets its even share of the workers, and a stopped one passes its share on", async () => {
  const [first, second, third] = pools(3, [...candidates(1, 1, 6), ...candidates(2, 1, 2)]);
  await balance([first!], [8]);
  await balance([first!, second!], [4, 4]);
  await balance([first!, second!, third!], [2, 3, 3]);
  const last = new Set(first!.running());
  await first!.stop();
  await balance([second!, third!], [4, 4]);
  assert.ok(last.size > 1);
  await Promise.all([second!.stop(), third!.stop()]);
});

test("the share of a process whose lease has expired passes on, and returns with it", async () => {
  const [first, second] = pools(2, candidates(1, 1, 4));
  await balance([first!, second!], [2, 2]);
  // As after it was frozen: it has lost its workers' leases and its part.
  await db.pool.query(
    `update leases set expires_at = now() - interval '1 s'
     where name = any ($2) or starts_with(name, 'pool:' || $1 || ':')`,
    [first!.role, first!.running().map((key) => `${first!.role}:${key.split(":")[1]}`)],
  );
  await eventually(() => first!.workers.size === 0);
  await balance([second!], [4]);
  await balance([first!, second!], [2, 2]);
  await Promise.all([first!.stop(), second!.stop()]);
});

test("leases of an account that are named like a process's part change no share", async () => {
  const [first, second] = pools(2, candidates(1, 1, 4));
  await balance([first!], [4]);
  await db.pool.query(
    `insert into leases (account_id, name, fence, holder, expires_at)
     select 1, 'pool:' || $1 || ':' || i, 1, gen_random_uuid(), now() + interval '1 day' from generate_series(1, 10) i`,
    [first!.role],
  );
  await poll([first!]);
  assert.equal(first!.workers.size, 4);
  await balance([first!, second!], [2, 2]);
  await Promise.all([first!.stop(), second!.stop()]);
});

/** Polls for each pool some times. */
async function poll(of: readonly ReturnType<typeof fixture>[]): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await Promise.all(of.map((pool) => pool.pollOnce()));
    await pause(10);
  }
}

test("a pool is polled until it takes part, and without due work only to give back workers", async () => {
  const idle = fixture();
  assert.ok(idle.isActive());
  await idle.startDue();
  assert.ok(!idle.isActive());
  const busy = fixture({ due: candidates(1, 1, 1), times: short });
  await busy.startUntil(["1:1"]);
  await eventually(() => busy.isActive());
  const patient = fixture({ due: candidates(1, 1, 1) });
  await patient.startUntil(["1:1"]);
  assert.ok(!patient.isActive());
  await Promise.all([idle.stop(), busy.stop(), patient.stop()]);
});

test("a worker that cannot move stays in its process", async () => {
  const both = pools(2, candidates(1, 1, 2), { movable: () => false });
  await balance([both[0]!], [2]);
  await poll(both);
  assert.deepEqual(sizes(both), [2, 0]);
  await Promise.all(both.map((pool) => pool.stop()));
});

test("no worker moves to a process when nothing becomes more even", async () => {
  const all = pools(4, candidates(1, 1, 1));
  await balance([all[0]!], [1]);
  await poll(all);
  assert.deepEqual(sizes(all), [1, 0, 0, 0]);
  await Promise.all(all.map((pool) => pool.stop()));
});

test("a new process gets a worker although no other has more than its share", async () => {
  const all = pools(3, candidates(1, 1, 4));
  await balance(all.slice(0, 2), [2, 2]);
  await balance(all, [1, 1, 2]);
  await Promise.all(all.map((pool) => pool.stop()));
});

test("work that was given back and that no other process takes is taken again, and kept", async () => {
  const times = { lease_ms: 2_000, renew_ms: 50, margin_ms: 500 };
  const [able] = pools(1, candidates(1, 1, 2), { times });
  await balance([able!], [2]);
  const unable = fixture({ role: able!.role, times, due: [] });
  const both = [able!, unable];
  await balance(both, [0, 1]);
  await balance(both, [0, 2]);
  const { length } = able!.started;
  await poll(both);
  assert.equal(able!.started.length, length);
  await Promise.all(both.map((pool) => pool.stop()));
});

test("the lease of a worker that fails is expired, as of one that died; it ends no other, and is started again", async () => {
  const pool = fixture({ due: candidates(1, 1, 2) });
  await pool.startUntil(["1:1", "1:2"]);
  pool.workers.get("1:1")!.end(new Error("the worker failed"));
  const name = `${pool.role}:1`;
  await eventually(async () => {
    const { rows } = await db.pool.query(
      "select from leases where name = $1 and holder is not null and expires_at <= now()",
      [name],
    );
    return rows.length === 1;
  });
  await pool.startUntil(["1:1", "1:2"]);
  assert.deepEqual(pool.started.toSorted(), ["1:1", "1:1", "1:2"]);
  await pool.stop();
});

test("a lost lease is not released: it expires", async () => {
  const pool = fixture({
    due: candidates(1, 1, 1),
    times: { lease_ms: 60_000, renew_ms: 20, margin_ms: 4_000 },
  });
  await pool.startUntil(["1:1"]);
  await db.pool.query("update leases set expires_at = now() where name = $1", [`${pool.role}:1`]);
  await eventually(() => pool.workers.size === 0);
  await pool.stop();
  assert.deepEqual(await held(pool.role), [`1 ${pool.role}:1`]);
});

test("a process has no more workers than its limit, and takes the next candidate when one ends", async () => {
  const pool = fixture({ due: candidates(1, 1, 3), limits: { workers: 2 } });
  await pool.startUntil(["1:1", "1:2"]);
  await pool.startDue();
  pool.workers.get("1:1")!.end();
  await eventually(() => pool.workers.size === 1);
  // The ended worker is a candidate again, at first with its lease in use.
  await eventually(async () => {
    await pool.startDue();
    return pool.workers.size === 2;
  });
  await pool.stop();
});

test("an account with more candidates than places hides no other account", async () => {
  const due = [...candidates(1, 1, 250), ...candidates(2, 1, 1)];
  const pool = fixture({
    limits: { account_workers: 3 },
    findDue: ({ all }) => due.filter(({ account_id }) => !all.includes(account_id)).slice(0, 100),
  });
  await pool.startDue();
  await eventually(() => pool.workers.size === 4);
  assert.deepEqual(pool.running(), ["1:1", "1:2", "1:3", "2:1"]);
  await pool.stop();
});

test("candidates of an account beyond its places alternate with the others, however busy these are", async () => {
  const waiting = new Set(candidates(7, 1, 3));
  const pool = fixture({
    // Behind those that wait, as an endpoint that has just been worked for.
    findDue: ({ all }) => (all.includes(7) ? [] : [...waiting]),
    limits: { account_workers: 2, account_worker_ms: 0 },
  });
  await eventually(async () => {
    await pool.startDue();
    const running = [...waiting].filter(({ id }) => pool.workers.has(`7:${id}`));
    for (const candidate of running) {
      waiting.delete(candidate);
      waiting.add(candidate);
    }
    return new Set(pool.started).size === 3;
  });
  await pool.stop();
});

test("failing candidates never occupy all places of their account", async () => {
  const failing = candidates(1, 1, 5).map((one) => ({ ...one, is_failing: true }));
  const due = [...failing, ...candidates(1, 6, 8)];
  const pool = fixture({ due, limits: { account_workers: 4, account_failing_workers: 2 } });
  await pool.startDue();
  await eventually(() => pool.workers.size === 4);
  assert.deepEqual(pool.running(), ["1:1", "1:2", "1:6", "1:7"]);
  await pool.stop();
});

test("a worker is woken by its id or its account", async () => {
  const pool = fixture({ due: [...candidates(1, 1, 2), ...candidates(2, 1, 1)] });
  await pool.startUntil(["1:1", "1:2", "2:1"]);
  for (const handle of pool.handlesOf(1)) handle.wake();
  for (const handle of pool.handlesOf(1, 2)) handle.wake();
  for (const handle of pool.handlesOf(3, 1)) handle.wake();
  const wakes = pool.running().map((key) => pool.workers.get(key)!.wakes);
  assert.deepEqual(wakes, [1, 2, 0]);
  await pool.stop();
});

test("a stop wakes every worker, waits until all leases are released, and starts no worker", async () => {
  const pool = fixture({ due: candidates(1, 1, 3) });
  await pool.startUntil(["1:1", "1:2", "1:3"]);
  await pool.stop();
  assert.deepEqual(pool.running(), []);
  assert.deepEqual(await held(pool.role), []);
  await pool.startDue();
  assert.equal(pool.started.length, 3);
});

test("a candidate whose lease cannot be acquired is tried again at the next poll", async () => {
  let due: readonly Candidate[] = [];
  const pool = fixture({ findDue: () => due });
  await pool.startDue();
  due = candidates(1, 1, 1);
  await db.pool.query("alter function acquire_lease rename to acquire_lease_away");
  await pool.startDue();
  await db.pool.query("alter function acquire_lease_away rename to acquire_lease");
  await pool.startUntil(["1:1"]);
  await pool.stop();
});
