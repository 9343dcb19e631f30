// `npm run asterisk:up`: runs an Asterisk for trial calls on this machine; sipp simulates its carrier and phones.
// Ctrl-C stops it; the folder stays, so that ports and password are the same next time.
import { once } from "node:events";
import { join } from "node:path";
import { startCarrier, startPhones, type Sipp } from "../test/support/sipp.ts";
import { asterisk_cache, asteriskVersion } from "./asterisk/asterisk-files.ts";
import { installAsterisk } from "./asterisk/install-asterisk.ts";
import { startAsterisk, type RunningAsterisk } from "./asterisk/start-asterisk.ts";

const run_dir = join(asterisk_cache, "up");

try {
  const files = installAsterisk(console.log);
  const asterisk = await startAsterisk({ run_dir });
  const far_ends: Sipp[] = [];
  try {
    far_ends.push(await startCarrier(asterisk), await startPhones(asterisk));
    console.log(welcome(asterisk, asteriskVersion(files)));
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  } finally {
    await Promise.all([asterisk.stop(), ...far_ends.map((far_end) => far_end.stop())]);
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
process.exit();

function welcome(asterisk: RunningAsterisk, version: string): string {
  return `Asterisk ${version} is running (pid ${asterisk.pid}); it writes only to ${asterisk.run_dir}

What Trunkline must know of it:
  ARI                 ${asterisk.ari_url}
  ARI user            ${asterisk.ari_user}
  ARI password        ${asterisk.ari_password}
  call records        ${asterisk.cdr_path}
  sounds              ${asterisk.sounds_dir}
  trunk's endpoint    trunk
  phones' endpoints   agent1, agent2, agent3, agent4

docs/guides/calls-setup.md shows the next commands. While the demo's sandbox trunk is also active, calls use
either of the two: npm run cli -- trunk set 1 --account 1 --active no

The phones answer, and so does every customer, but for numbers such as
  7486000000  busy                    7180000000  rings on
  7603000000  declines                7201050000  hangs up after 5 s
  7503000000  the carrier refuses     7220000000  answers and speaks
More in test/support/sipp/outcomes.ts; phones that do not answer in asterisk/try/pjsip.agents.conf.

Ctrl-C stops it.`;
}
