import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { storeAudio } from "../../server/calls/audio/audio-files.ts";
import type { VoicePlan } from "../../server/calls/state-machine/voice-plan.ts";
import { systemClock } from "../../server/lib/clock.ts";
import { openDatabase } from "../../server/lib/database/database.ts";
import { startEmbeddedPostgres } from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { openLog } from "../../server/lib/log.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { checkVoiceCampaigns } from "../support/check-invariants.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { seededRandom } from "../support/provider-stub/faults.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import { tone } from "../support/tone-speech.ts";
import { makeVoiceCampaign } from "../support/voice-factory.ts";
import { openCallDrillFixture, type CallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { customer, refused } from "./call-load.ts";

const recipients = 400;
const max_retry = 1;
/** Of a machine that has other things to do as well. */
const patience_s = 200;

/** Six in ten answer and listen; the others leave in the middle, or do not answer. */
function whom(random: () => number): string {
  const at = random();
  if (at < 0.6) return customer("stays");
  if (at < 0.75) return customer("hangs_up", 1);
  if (at < 0.8) return customer("rings_on");
  return refused([486, 503, 404, 603, 480][Math.floor(random() * 5)]!);
}

/** A campaign of a one-second clip to everybody; returns its id. */
async function launch(fixture: CallDrillFixture, random: () => number): Promise<number> {
  const db = openDatabase(fixture.database_url, openLog("silent", { readable: false }));
  const app = { db, clock: systemClock };
  const { account } = fixture;
  const audio = await storeAudio(db.query, account.account_id, tone(1_000), systemClock.now());
  const plan: VoicePlan = {
    content: { call_type: "obd_voice_call", prompt: { audio } },
    opt_out_key: null,
    answering_machine: "off",
  };
  const made = await makeVoiceCampaign(app, account, {
    campaign: {
      trunk_id: fixture.trunk_id,
      plan: JSON.stringify(plan),
      max_retry,
      retry_after_minutes: 0,
    },
    recipients: Array.from({ length: recipients }, () => {
      const number = whom(random);
      return { number, phone: `91${number}` };
    }),
  });
  await db.close();
  return made.id;
}

test("a campaign outlives kills, stops, freezes and restarts of everything: everybody is called as often as is allowed, and the books are right", async () => {
  const seed = Number(process.env["DRILL_SEED"] ?? Date.now() % 1_000_000_000);
  console.log(`DRILL_SEED=${seed}`);
  const random = seededRandom(seed);
  const dataDir = scratchFolder("trunkline-campaign-drill-");
  const start = () => startEmbeddedPostgres({ dataDir, log: () => {} });
  let postgres = await start();
  await migrate(postgres.url);
  {
    await using fixture = await openCallDrillFixture({
      database_url: postgres.url,
      legs_per_second: 20,
    });
    const workers: Worker[] = await Promise.all([fixture.startWorker(), fixture.startWorker()]);
    await fixture.awaitLeader(workers);
    await launch(fixture, random);
    const replace = async (signal: NodeJS.Signals) => {
      const leader = await fixture.awaitLeader(workers);
      leader.kill(signal);
      workers[workers.indexOf(leader)] = await fixture.startWorker();
      if (signal === "SIGTERM") await leader.ended();
      await leader.dispose();
    };
    const trials: Record<string, () => Promise<void>> = {
      "a leader killed": () => replace("SIGKILL"),
      "another killed": () => replace("SIGKILL"),
      "a leader stopped": () => replace("SIGTERM"),
      "a leader frozen past its lease": async () => {
        const leader = await fixture.awaitLeader(workers);
        leader.kill("SIGSTOP");
        await fixture.awaitLeader(workers.filter((one) => one !== leader));
        leader.kill("SIGCONT");
      },
      "the switch killed": async () => {
        await fixture.asterisk().kill();
        await fixture.startSwitch();
      },
      "the database restarted": async () => {
        await postgres.stop();
        postgres = await start();
      },
      "the database frozen": async () => {
        signalPostgres(postgres.pid, "SIGSTOP");
        await pause(2_000);
        signalPostgres(postgres.pid, "SIGCONT");
      },
    };
    const order = Object.keys(trials).toSorted(() => random() - 0.5);
    for (const trial of order) {
      // In the middle of calls, wherever the campaign is by now.
      const calling = () => fixture.count("stage in ('customer', 'talking')").catch(() => 0);
      await eventually(async () => (await calling()) > 0 || (await isOver(fixture)), patience_s);
      await pause(random() * 500);
      await trials[trial]!();
      // One that was starting while the database was away has given up, as it is to.
      for (const [i, worker] of workers.entries())
        if (!worker.isAlive()) workers[i] = await fixture.startWorker();
    }
    await eventually(() => isOver(fixture), patience_s);
    await fixture.awaitEnds();
    const outcomes = await fixture.outcomes();
    const figures = await fixture.checkCalls();
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await checkVoiceCampaigns(client);
    await client.end();
    const states = await fixture.ask<{ state: string; count: number }>(
      "select state, count(*)::int from voice_recipients group by 1 order by 1",
    );
    console.log(`${order.join(", ")}; ${JSON.stringify({ states, outcomes, figures })}`);
    const finals = new Set(["answered", "busy", "no_answer", "failed"]);
    assert.deepEqual(
      states.filter(({ state }) => !finals.has(state)),
      [],
    );
    const fallen = fixture.casualties().filter((told) => !told.includes("cannot be reached"));
    assert.deepEqual(fallen, []);
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Completed. While the switch is away calls fail, for which the campaign is paused: it is resumed. */
async function isOver(fixture: CallDrillFixture): Promise<boolean> {
  await fixture.ask("delete from voice_holds").catch(() => []);
  const rows = await fixture
    .ask<{ state: string }>("select state from voice_campaigns")
    .catch(() => []);
  return rows[0]?.state === "completed";
}
