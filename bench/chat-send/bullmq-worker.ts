// The peer: one BullMQ job per message, and a worker in the same process that sends it.
import { Queue, Worker } from "bullmq";
import { serveCommands, type Figures } from "../lib/child.ts";
import { openBareSend, type BareMessage } from "./bare-send.ts";
import { nameOf, phoneOf } from "./recipients.ts";

const jobs_per_call = 1_000;

const concurrency = Number(process.env["IN_FLIGHT"]);
const send = openBareSend(process.env["API_URL"]!, process.env["ACCESS_TOKEN"]!, concurrency);
const connection = { host: "127.0.0.1", port: Number(process.env["REDIS_PORT"]) };
const queue = new Queue<BareMessage>("messages", { connection });
let completed = 0;
let expected = 0;
let onAllCompleted = () => {};
const worker = new Worker<BareMessage>("messages", ({ data }) => send(data), {
  connection: { ...connection, maxRetriesPerRequest: null },
  concurrency,
});
worker.on("completed", () => {
  completed++;
  if (completed === expected) onAllCompleted();
});
const fail = (error: Error) => {
  console.error(error);
  process.exit(1);
};
worker.on("failed", (_, error) => fail(error));
worker.on("error", fail);
await worker.waitUntilReady();
let run = 0;

/** `add`: adds the jobs of a run while the queue is paused; without `add`: sends them. */
serveCommands(async ({ add }) => (add === undefined ? workAll() : addJobs(add)));

async function workAll(): Promise<Figures> {
  const { promise, resolve } = Promise.withResolvers<void>();
  onAllCompleted = resolve;
  await queue.resume();
  await promise;
  return {};
}

async function addJobs(count: number): Promise<Figures> {
  run++;
  completed = 0;
  expected = count;
  await queue.pause();
  await queue.obliterate({ force: true });
  await queue.pause();
  const jobs = Array.from({ length: count }, (_, i) => ({
    name: "message",
    data: { message_id: `trk.1.${run}.${i + 1}.1`, to: phoneOf(i), name: nameOf(i) },
  }));
  const began_ms = performance.now();
  for (let i = 0; i < count; i += jobs_per_call)
    await queue.addBulk(jobs.slice(i, i + jobs_per_call));
  return { added_per_second: (count * 1_000) / (performance.now() - began_ms) };
}
