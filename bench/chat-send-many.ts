// Measures sending beside many running campaigns: the same number of messages in one campaign alone, in 51 campaigns of
// one chat number, of 51 numbers of an account, and of 51 accounts: `npm --prefix bench run chat-send-many`;
// `-- --smoke` for a small run.
import { join } from "node:path";
import { migrate } from "../server/lib/database/migrate.ts";
import { access_token, startFarEnd } from "./chat-send/far-end.ts";
import { openManyFixture, places, type Place } from "./chat-send/many-fixture.ts";
import { reportMany, type ManyRound, type SentMany } from "./chat-send/report-many.ts";
import { startChild } from "./lib/child.ts";
import { cpuOfTree_seconds } from "./lib/cpu.ts";
import { rotate } from "./lib/rotate.ts";
import { runBench } from "./lib/run-bench.ts";

const smoke = process.argv.includes("--smoke");
const size = smoke ? { rounds: 1, messages: 510 } : { rounds: 5, messages: 10_200 };
const delay_ms = 50;
const in_flight = 100;

await runBench("chat-send-many", smoke, async ({ postgres, machine, defer }) => {
  await migrate(postgres.url);
  const fixture = await openManyFixture(postgres.url);
  defer(() => fixture.close());
  const farEnd = await startFarEnd();
  defer(() => farEnd.stop());
  const worker = await startChild(join(import.meta.dirname, "chat-send", "worker.ts"), {
    API_URL: farEnd.api_url,
    ACCESS_TOKEN: access_token,
    IN_FLIGHT: String(in_flight),
    DATABASE_URL: postgres.url,
  });
  defer(() => worker.stop());

  const send = async (place: Place): Promise<SentMany> => {
    const ids = await fixture.makeCampaigns(place, size.messages);
    await fixture.checkpoint();
    await farEnd.reset(delay_ms);
    const cpu_s = () => [worker.pid, postgres.pid].map(cpuOfTree_seconds);
    const [iterations, before] = [await worker.request({}), cpu_s()];
    await fixture.sendCampaigns(ids);
    const [ended, after] = [await worker.request({}), cpu_s()];
    const cpu_us = (i: number) => ((after[i]! - before[i]!) * 1e6) / size.messages;
    return {
      per_second: await farEnd.rateOf(size.messages),
      sender_us: cpu_us(0),
      database_us: cpu_us(1),
      messages_per_iteration: size.messages / (ended["count"]! - iterations["count"]!),
    };
  };

  await send("alone");
  const rounds: ManyRound[] = [];
  for (let i = 1; i <= size.rounds; i++) {
    const round: Partial<Record<Place, SentMany>> = {};
    for (const place of rotate(places, i)) {
      round[place] = await send(place);
      console.log(`round ${i} ${place}: ${Math.round(round[place].per_second)}/s`);
    }
    rounds.push(round as ManyRound);
  }
  await fixture.checkInvariants();
  return reportMany(rounds, { messages: size.messages, delay_ms, in_flight }, machine);
});
