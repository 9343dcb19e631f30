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

test("a notification reaches this process at once and another process soon, also after both lost their connections", async () => {
  const heardHere: string[] = [];
  const heardThere: string[] = [];
  here.on("token", (subject) => void heardHere.push(subject));
  there.on("token", (subject) => void heardThere.push(subject));
  const sendAndAsk = (subject: string) => {
    here.send("token", subject);
    return heardThere.includes(subject);
  };
  here.send("token", "1:1");
  assert.deepEqual(heardHere, ["1:1"]);
  // The connections open in the background: a notification before that may be lost, the next is not.
  await eventually(() => sendAndAsk("1:1"));

  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'trunkline-hints' and datname = current_database()",
  );
  await admin.end();
  await eventually(() => sendAndAsk("2:2"));
});

test("notifications of one channel within a moment go out as one notification", async () => {
  const heard: string[] = [];
  there.on("workspace", (subject) => void heard.push(subject));
  const listener = new pg.Client({ connectionString: database.url });
  const notifications: string[] = [];
  listener.on("notification", ({ payload }) => void notifications.push(payload ?? ""));
  await listener.connect();
  await listener.query("listen trunkline");
  for (let i = 0; i < 40; i++) here.send("workspace", `1:${i}`);
  await eventually(() => heard.includes("1:39"));
  // Two connections hear in no order: what the listener was sent is here before its next answer.
  await eventually(() => notifications.some((payload) => payload.includes("1:39")));
  await listener.query("select 1");
  assert.equal(notifications.filter((payload) => payload.includes("workspace")).length, 1);
  await listener.end();
});

test("while the database stands still notifications are gathered, and each goes once when it moves again", async () => {
  const listener = new pg.Client({ connectionString: database.url });
  const notifications: string[] = [];
  listener.on("notification", ({ payload }) => void notifications.push(payload ?? ""));
  await listener.connect();
  await listener.query("listen trunkline");
  const backends = async () => {
    const { rows } = await listener.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'trunkline-hints' and datname = current_database()",
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
  // The one that was under way, and one for all that came meanwhile.
  const told = notifications.filter((payload) => payload.includes("again"));
  assert.ok(told.length <= 2, `${told.length} notifications`);
  await slow.close();
  await listener.end();
});

test("a process hears its own notification once, at once, and not again when it comes back", async () => {
  const heardHere: string[] = [];
  const heardThere: string[] = [];
  here.on("job", (subject) => void heardHere.push(subject));
  there.on("job", (subject) => void heardThere.push(subject));
  for (const subject of ["1", "2", "3"]) {
    here.send("job", subject);
    // The same connection brings its own copy before what is sent to it later.
    await eventually(() => heardThere.includes(subject));
  }
  there.send("job", "last");
  await eventually(() => heardHere.includes("last"));
  assert.deepEqual(heardHere, ["1", "2", "3", "last"]);
});

test("a notification on our channel that is not ours harms nobody", async () => {
  const heard: string[] = [];
  there.on("token", (subject) => void heard.push(subject));
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
  await eventually(() => heard.includes("3:3"));
  assert.deepEqual(heard, ["3:3"]);
  await stranger.end();
});
