import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { testClock } from "../../test/support/clock.ts";
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
import { testSecrets } from "../../test/support/secrets.ts";

/** Notifications within this process only. */
function localNotifications(): Notifications {
  const listeners: ((subject: string) => void)[] = [];
  return {
    send: (_channel: NotificationChannel, subject) => {
      for (const listener of listeners) listener(subject);
    },
    on: (_channel, listener) => void listeners.push(listener),
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
  aiAgentDrivers: {},
  speech: toneSpeech,
  outgoing: localOutgoing,
  secrets: testSecrets,
});

const hour_ms = 3_600_000;

test("a loop iterates while there is work, then waits for a notification", async () => {
  const here = app();
  const left = [3, 2, 1, 0];
  let iterations = 0;
  const loop = runLoop(here, {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    iterate: async () => {
      iterations++;
      return left.shift() ?? 0;
    },
  });
  await eventually(() => iterations === 4);
  here.notifications.send("lead_import", "1:1");
  await eventually(() => iterations === 5);
  await loop.stop();
  assert.equal(iterations, 5);
});

test("a notification that arrives during an iteration is not lost", async () => {
  const here = app();
  let iterations = 0;
  const loop = runLoop(here, {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    iterate: async () => {
      if (++iterations === 1) here.notifications.send("lead_import", "1:1");
      return 0;
    },
  });
  await eventually(() => iterations === 2);
  await loop.stop();
});

test("an iteration that throws is retried at the next poll", async () => {
  let iterations = 0;
  const loop = runLoop(app(), {
    name: "test",
    channel: "lead_import",
    poll_ms: 5,
    iterate: async () => {
      if (++iterations < 3) throw new Error("the database is unavailable");
      return 0;
    },
  });
  await eventually(() => iterations >= 3);
  await loop.stop();
});

test("a failure that repeats is logged once a minute, another one immediately, and the end of the failures once", async () => {
  const clock = testClock();
  clock.set("2026-11-26T10:00:00Z");
  const lines: { readonly msg: string; readonly count: number; readonly err?: object }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const failures = ["is away", "is away", "minute", "is full", "is full"];
  const loop = runLoop(
    { ...app(), clock, log },
    {
      name: "test",
      poll_ms: 1,
      iterate: async () => {
        const failure = failures.shift();
        if (failure === undefined) return 0;
        if (failure === "minute") clock.advance(60_000);
        throw new Error(`the database ${failure === "minute" ? "is away" : failure}`);
      },
    },
  );
  await eventually(() => lines.some(({ msg }) => msg === "background loop works again"));
  await loop.stop();
  assert.deepEqual(
    lines.map(({ msg, count, err }) => [msg, count, (err as Error | undefined)?.message]),
    [
      ["background loop iteration failed; retrying", 1, "the database is away"],
      ["background loop iteration failed; retrying", 3, "the database is away"],
      ["background loop iteration failed; retrying", 4, "the database is full"],
      ["background loop works again", 5, undefined],
    ],
  );
});

test("a stop aborts the current iteration's signal and waits for its end", async () => {
  let ended = false;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const loop = runLoop(app(), {
    name: "test",
    channel: "lead_import",
    poll_ms: hour_ms,
    iterate: async (stopping) => {
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

test("an iteration without work is followed by the loop's rest, which a notification ends", async (t) => {
  const services = app();
  let ticks = 0;
  let iterations = 0;
  const clock = runLoop(services, { name: "clock", poll_ms: 1, iterate: async () => ticks++ && 0 });
  const loop = runLoop(services, {
    name: "rests",
    channel: "job",
    poll_ms: 1,
    restMs: async () => 100_000,
    iterate: async () => ++iterations && 0,
  });
  t.after(() => Promise.all([clock.stop(), loop.stop()]));
  await eventually(() => ticks > 50);
  assert.equal(iterations, 1);
  services.notifications.send("job", "");
  await eventually(() => iterations === 2);
});
