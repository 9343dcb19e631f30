import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../../test/support/eventually.ts";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import type { Database } from "../lib/database/database.ts";
import { openLog } from "../lib/log.ts";
import type { App } from "./app.ts";
import type { NotificationChannel, Notifications } from "./notifications.ts";
import { runLoop } from "./run-loop.ts";
import { localOutgoing } from "../../test/support/local-outgoing.ts";
import { toneSpeech } from "../../test/support/tone-speech.ts";

/** Notifications within this process alone. */
function localNotifications(): Notifications {
  const heard: ((subject: string) => void)[] = [];
  return {
    send: (_channel: NotificationChannel, subject) => {
      for (const tell of heard) tell(subject);
    },
    on: (_channel, tell) => void heard.push(tell),
    close: async () => {},
  };
}

const app = (): App => ({
  db: {} as Database,
  clock: systemClock,
  random: systemRandom,
  log: openLog("silent", { readable: false }),
  notifications: localNotifications(),
  chatDrivers: {},
  voiceDrivers: {},
  agentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
});

const hour_ms = 3_600_000;

test("a loop goes on while there is work, then waits for a notification", async () => {
  const here = app();
  const left = [3, 2, 1, 0];
  let turns = 0;
  const loop = runLoop(here, {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    turn: async () => {
      turns++;
      return left.shift() ?? 0;
    },
  });
  await eventually(() => turns === 4);
  here.notifications.send("lead_import", "1:1");
  await eventually(() => turns === 5);
  await loop.stop();
  assert.equal(turns, 5);
});

test("a notification that comes while a turn runs is not lost", async () => {
  const here = app();
  let turns = 0;
  const loop = runLoop(here, {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    turn: async () => {
      if (++turns === 1) here.notifications.send("lead_import", "1:1");
      return 0;
    },
  });
  await eventually(() => turns === 2);
  await loop.stop();
});

test("a turn that throws is tried again at the next poll", async () => {
  let turns = 0;
  const loop = runLoop(app(), {
    name: "test",
    channel: "lead_import",
    poll_ms: 5,
    turn: async () => {
      if (++turns < 3) throw new Error("the database is away");
      return 0;
    },
  });
  await eventually(() => turns >= 3);
  await loop.stop();
});

test("a stop waits for the turn that runs and tells it to come to its end", async () => {
  let ended = false;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const loop = runLoop(app(), {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    turn: async (stopping) => {
      begin();
      await eventually(() => stopping.aborted);
      ended = true;
      return 1;
    },
  });
  await begun;
  await loop.stop();
  assert.ok(ended);
});
