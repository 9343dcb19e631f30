// The upper limit: the same bodies to the same receivers with as many requests in flight, unsigned, and
// without recording anything.
import { Pool } from "undici";
import { serveCommands } from "../lib/child.ts";
import { bodyOf } from "./bodies.ts";

const in_flight = Number(process.env["IN_FLIGHT"]);
const pools = process.env["PORTS"]!.split(",").map(
  (port) => new Pool(`http://127.0.0.1:${port}`, { connections: in_flight, pipelining: 1 }),
);
let run = 0;

/** `count`: sends this many events to every receiver. */
serveCommands(async ({ count = 0 }) => {
  run++;
  const now = new Date();
  const deliver = async (pool: Pool) => {
    let next = 0;
    const loop = async () => {
      for (let i = next++; i < count; i = next++) {
        const headers = { "content-type": "application/json", "webhook-id": `evt_${run}_${i}` };
        const body = bodyOf(i, now);
        const answer = await pool.request({ method: "POST", path: "/", headers, body });
        await answer.body.dump();
        if (answer.statusCode !== 204)
          throw new Error(`a callback got status ${answer.statusCode}`);
      }
    };
    await Promise.all(Array.from({ length: in_flight }, loop));
  };
  await Promise.all(pools.map(deliver));
  return {};
});
