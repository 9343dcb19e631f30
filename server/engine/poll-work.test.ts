import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openDatabase, type Database } from "../lib/database/database.ts";
import { systemClock } from "../lib/clock.ts";
import { openLog } from "../lib/log.ts";
import type { Notifications } from "./notifications.ts";
import { pollWork, type Polled } from "./poll-work.ts";
import { runLoop } from "./run-loop.ts";

const log = openLog("silent", { readable: false });
const notifications: Notifications = { send: () => {}, on: () => {}, close: async () => {} };

let database: TestDatabase;
let db: Database;

before(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.url, log);
});
after(async () => {
  await db.close();
  await database.drop();
});

/** Two loops that count their iterations, and polls on their behalf. */
function pollTwo(
  t: { after(undo: () => Promise<void>): void },
  ...polls: [Omit<Polled, "loops">, Omit<Polled, "loops">]
): [number, number] {
  const app = { db, log, notifications, clock: systemClock };
  const iterations: [number, number] = [0, 0];
  const polled = polls.map((poll, i) => {
    const iterate = async () => {
      iterations[i]!++;
      return 0;
    };
    return { ...poll, loops: [runLoop(app, { name: "test", iterate })] };
  });
  const poll = pollWork(app, { name: "poll", poll_ms: 5 }, polled);
  t.after(async () => {
    await poll.stop();
    await Promise.all(polled.flatMap(({ loops }) => loops.map((loop) => loop.stop())));
  });
  return iterations;
}

const never = "from (values (false)) v (due) where due and $1::timestamptz is not null";

test("the poll wakes loops for which a query returns a row, and no others", async (t) => {
  const due = [never, "from (values (true)) v (due) where due"];
  const iterations = pollTwo(t, { due: [never] }, { due });
  await eventually(() => iterations[1] > 5);
  assert.equal(iterations[0], 1);
});

test("the poll wakes active loops without due work", async (t) => {
  const iterations = pollTwo(t, { due: [never] }, { due: [never], isActive: () => true });
  await eventually(() => iterations[1] > 5);
  assert.equal(iterations[0], 1);
});

test("a query that fails keeps no loop from its work", async (t) => {
  const iterations = pollTwo(t, { due: [never] }, { due: ["from missing"] });
  await eventually(() => iterations.every((count) => count > 5));
});
