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
import { seededRandom } from "../support/provider-stub/injected-errors.ts";
import { signalPostgres } from "../support/signal-postgres.ts";
import { tone } from "../support/tone-speech.ts";
import { makeVoiceCampaign } from "../support/voice-factory.ts";
import { openCallDrillFixture, type CallDrillFixture, type Worker } from "./call-drill-fixture.ts";
import { customer, refused } from "./call-load.ts";

const recipients = 400;
const max_retry = 1;
/** Allows for a busy machine. */
const deadline_s = 200;

/** Returns a number: six in ten customers answer and listen; the others hang up early or do not answer. */
function chooseCustomer(random: () => number): string {
  const at = random();
  if (at < 0.6) return customer("stays");
  if (at < 0.75) return customer("hangs_up", 1);
  if (at < 0.8) return customer("rings_on");
  return refused([486, 503, 404, 603, 480][Math.floor(random() * 5)]!);
}

/** Launches a campaign that plays one second of audio to every recipient; returns its ID. */
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
      const number = chooseCustomer(random);
      return { number, phone: `91${number}` };
    }),
  });
  await db.close();
  return made.id;
}

test("a campaign survives kills, stops, freezes and restarts of every process: no recipient is called more often than allowed, and all invariants hold", async () => {
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
    const disruptions: Record<string, () => Promise<void>> = {
      "leader killed": () => replace("SIGKILL"),
      "leader killed again": () => replace("SIGKILL"),
      "leader stopped": () => replace("SIGTERM"),
      "leader frozen past its lease": async () => {
        const leader = await fixture.awaitLeader(workers);
        leader.kill("SIGSTOP");
        await fixture.awaitLeader(workers.filter((one) => one !== leader));
        leader.kill("SIGCONT");
      },
      "switch killed": async () => {
        await fixture.asterisk().kill();
        await fixture.startSwitch();
      },
      "database restarted": async () => {
        await postgres.stop();
        postgres = await start();
      },
      "database frozen": async () => {
        signalPostgres(postgres.pid, "SIGSTOP");
        await pause(2_000);
        signalPostgres(postgres.pid, "SIGCONT");
      },
    };
    const order = Object.keys(disruptions).toSorted(() => random() - 0.5);
    for (const disruption of order) {
      // While calls are live, unless the campaign has completed.
      const calling = () => fixture.count("stage in ('customer', 'talking')").catch(() => 0);
      await eventually(async () => (await calling()) > 0 || (await isOver(fixture)), deadline_s);
      await pause(random() * 500);
      await disruptions[disruption]!();
    }
    await eventually(() => isOver(fixture), deadline_s);
    await fixture.awaitAllEnded();
    const outcomes = await fixture.outcomes();
    const figures = await fixture.checkCalls();
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await checkVoiceCampaigns(client);
    await client.end();
    const states = await fixture.query<{ state: string; count: number }>(
      "select state, count(*)::int from voice_recipients group by 1 order by 1",
    );
    console.log(`${order.join(", ")}; ${JSON.stringify({ states, outcomes, figures })}`);
    const final_states = new Set(["answered", "busy", "no_answer", "failed"]);
    assert.deepEqual(
      states.filter(({ state }) => !final_states.has(state)),
      [],
    );
    assert.deepEqual(fixture.crashes(), []);
  }
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Whether the campaign is completed. Failed calls pause it while the switch is down; this resumes it. */
async function isOver(fixture: CallDrillFixture): Promise<boolean> {
  await fixture.query("delete from voice_holds").catch(() => []);
  const rows = await fixture
    .query<{ state: string }>("select state from voice_campaigns")
    .catch(() => []);
  return rows[0]?.state === "completed";
}
