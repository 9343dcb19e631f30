import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { cloneDatabase, type TestDatabase } from "../../test/support/database.ts";
import { eventually } from "../../test/support/eventually.ts";
import { openLog } from "../lib/log.ts";
import { openNotifications, type Notifications } from "./notifications.ts";

const log = openLog("silent", { readable: false });
let database: TestDatabase;
let here: Notifications;
let there: Notifications;

before(async () => {
  database = await cloneDatabase();
  here = openNotifications(database.url, log);
  there = openNotifications(database.url, log);
});
after(async () => {
  await here.close();
  await there.close();
  await database.drop();
});

test("a notification reaches this process immediately and other processes soon, also after connections were lost", async () => {
  const receivedHere: string[] = [];
  const receivedThere: string[] = [];
  here.on("token", (subject) => void receivedHere.push(subject));
  there.on("token", (subject) => void receivedThere.push(subject));
  const sendAndAsk = (subject: string) => {
    here.send("token", subject);
    return receivedThere.includes(subject);
  };
  here.send("token", "1:1");
  assert.deepEqual(receivedHere, ["1:1"]);
  // The connections open in the background: a notification before that may be lost.
  await eventually(() => sendAndAsk("1:1"));

  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'trunkline-notifications' and datname = current_database()",
  );
  await admin.end();
  await eventually(() => sendAndAsk("2:2"));
});

test("notifications of one channel within 10 ms are sent as one", async () => {
  const received: string[] = [];
  there.on("workspace", (subject) => void received.push(subject));
  const listener = new pg.Client({ connectionString: database.url });
  const notifications: string[] = [];
  listener.on("notification", ({ payload }) => void notifications.push(payload ?? ""));
  await listener.connect();
  await listener.query("listen trunkline");
  for (let i = 0; i < 40; i++) here.send("workspace", `1:${i}`);
  await eventually(() => received.includes("1:39"));
  // The order across connections is undefined, but the listener has received its notifications before its next query result.
  await eventually(() => notifications.some((payload) => payload.includes("1:39")));
  await listener.query("select 1");
  assert.equal(notifications.filter((payload) => payload.includes("workspace")).length, 1);
  await listener.end();
});

test("while the database is paused notifications are batched, and each is sent once when it resumes", async () => {
  const listener = new pg.Client({ connectionString: database.url });
  const notifications: string[] = [];
  listener.on("notification", ({ payload }) => void notifications.push(payload ?? ""));
  await listener.connect();
  await listener.query("listen trunkline");
  const backends = async () => {
    const { rows } = await listener.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'trunkline-notifications' and datname = current_database()",
    );
    return rows.map(({ pid }) => pid);
  };
  const others = await backends();
  const slow = openNotifications(database.url, log);
  await eventually(() => {
    slow.send("job", "first");
    return notifications.some((payload) => payload.includes("first"));
  });
  const backend = (await backends()).find((pid) => !others.includes(pid));
  process.kill(backend!, "SIGSTOP");
  for (let i = 0; i < 20; i++) {
    slow.send("job", "again");
    await wait(15);
  }
  process.kill(backend!, "SIGCONT");
  slow.send("job", "last");
  await eventually(() => notifications.some((payload) => payload.includes("last")));
  // The one in flight, and one for all that were sent meanwhile.
  const sent = notifications.filter((payload) => payload.includes("again"));
  assert.ok(sent.length <= 2, `${sent.length} notifications`);
  await slow.close();
  await listener.end();
});

test("a process receives its own notification once, immediately, and not again as an echo", async () => {
  const receivedHere: string[] = [];
  const receivedThere: string[] = [];
  here.on("job", (subject) => void receivedHere.push(subject));
  there.on("job", (subject) => void receivedThere.push(subject));
  for (const subject of ["1", "2", "3"]) {
    here.send("job", subject);
    // The same connection receives its own copy before later notifications.
    await eventually(() => receivedThere.includes(subject));
  }
  there.send("job", "last");
  await eventually(() => receivedHere.includes("last"));
  assert.deepEqual(receivedHere, ["1", "2", "3", "last"]);
});

test("a foreign notification on our channel is ignored", async () => {
  const received: string[] = [];
  there.on("token", (subject) => void received.push(subject));
  const stranger = new pg.Client({ connectionString: database.url });
  await stranger.connect();
  const strange = [
    "",
    "garbage",
    "null",
    "{}",
    "[]",
    '["token",5]',
    '["token",[5]]',
    '["x",["1:1"]]',
  ];
  for (const payload of strange) {
    await stranger.query("select pg_notify('trunkline', $1)", [payload]);
  }
  await stranger.query("select pg_notify('trunkline', $1)", ['["token",["3:3"]]']);
  await eventually(() => received.includes("3:3"));
  assert.deepEqual(received, ["3:3"]);
  await stranger.end();
});
