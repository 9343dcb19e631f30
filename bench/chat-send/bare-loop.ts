// The upper limit: the maximum of requests in flight, without recording anything.
import { serveCommands } from "../lib/child.ts";
import { openBareSend } from "./bare-send.ts";
import { nameOf, phoneOf } from "./recipients.ts";

const in_flight = Number(process.env["IN_FLIGHT"]);
const send = openBareSend(process.env["API_URL"]!, process.env["ACCESS_TOKEN"]!, in_flight);
let run = 0;

/** `count`: sends this many messages. */
serveCommands(async ({ count = 0 }) => {
  run++;
  let next = 0;
  const loop = async () => {
    for (let i = next++; i < count; i = next++)
      await send({ message_id: `trk.1.${run}.${i + 1}.1`, to: phoneOf(i), name: nameOf(i) });
  };
  await Promise.all(Array.from({ length: in_flight }, loop));
  return {};
});
