import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAsterisk, type RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import type { DialTarget } from "../../server/drivers/voice/driver.ts";
import { openAsteriskDriver } from "../../server/drivers/voice/asterisk/open-asterisk-driver.ts";
import { openLog } from "../../server/lib/log.ts";
import { eventually } from "../support/eventually.ts";
import { startCarrier } from "../support/sipp.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";
import { voiceDriverContract } from "../support/voice-driver-contract.ts";

const app = "installation-2";

function overTrunk(number: string): DialTarget {
  return { kind: "trunk", endpoint: "trunk", number };
}

/** Calls into the dialplan of the trunks, as a carrier does, and waits until the call has ended. */
async function callIn(
  { ari_url, ari_user, ari_password }: RunningAsterisk,
  from: string,
  to: string,
): Promise<void> {
  const url = `${ari_url}/channels/caller-${to}`;
  const authorization = `Basic ${btoa(`${ari_user}:${ari_password}`)}`;
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({
      endpoint: `Local/${to}@from-trunk/n`,
      context: "default",
      extension: "s",
      callerId: from,
      variables: { TRUNKLINE_APP: app },
    }),
  });
  assert.equal(response.status, 200, await response.text());
  await eventually(
    async () => (await fetch(url, { headers: { authorization } })).status === 404,
    60,
  );
}

voiceDriverContract("asterisk", async () => {
  const run_dir = mkdtempSync(join(tmpdir(), "trunkline-driver-"));
  const asterisk = await startAsterisk({ run_dir });
  const carrier = await startCarrier(asterisk);
  const { ari_url, ari_user, ari_password, cdr_path, sounds_dir } = asterisk;
  return {
    driver: openAsteriskDriver(openLog("silent")),
    node: {
      id: 1,
      name: "asterisk",
      ari: { url: ari_url, user: ari_user, password: ari_password, app },
      cdr_path,
      sounds_dir,
    },
    far_ends: {
      stays: overTrunk(farEnd("speaks")),
      human: overTrunk(farEnd("says_hello")),
      machine: overTrunk(farEnd("greets_long")),
      hangs_up: overTrunk(farEnd("hangs_up", 1)),
      presses_1: overTrunk(farEnd("presses", 2, "1")),
      rings: overTrunk(farEnd("rings_on")),
      declined: overTrunk(refusing(603)),
      busy: overTrunk(refusing(486)),
      unallocated: overTrunk(refusing(404)),
      invalid: overTrunk(refusing(484)),
      congestion: overTrunk(refusing(503)),
      unreachable: { kind: "extension", endpoint: "agent-unregistered", number: "9" },
    },
    callIn: (from, to) => callIn(asterisk, from, to),
    async close() {
      await Promise.all([asterisk.stop(), carrier.stop()]);
      rmSync(run_dir, { recursive: true });
    },
  };
});
