// An account that places calls over the sandbox driver, faster than in real time.
import {
  openSandboxVoiceDriver,
  type SandboxVoiceDriver,
} from "../../server/drivers/voice/sandbox/open-sandbox-driver.ts";
import type { VoiceDriver } from "../../server/drivers/voice/driver.ts";
import type { App } from "../../server/engine/app.ts";
import { startApi, type TestApi } from "./api.ts";
import { leadNodes, openCallClient, type CallClient } from "./call-client.ts";
import { makeCallingAccount, makeSandboxTrunk } from "./telephony-factory.ts";

const pace = 50;

export type CallFixture = CallClient & {
  readonly api: TestApi;
  readonly app: App;
  readonly sandbox: SandboxVoiceDriver;
  readonly node_id: number;
  readonly trunk_id: number;
  /** Runs the node leaders as a worker does. */
  startLeaders(): { stop(): Promise<void> };
  close(): Promise<void>;
};

export async function openCallFixture({
  through = (driver) => driver,
  ...more
}: {
  credits?: number;
  /** Stands between the service and the sandbox. */
  through?: (driver: VoiceDriver) => VoiceDriver;
} = {}): Promise<CallFixture> {
  const sandbox = openSandboxVoiceDriver({ pace });
  const api = await startApi({ voiceDrivers: { sandbox: through(sandbox) } });
  const { app } = api;
  const account = await makeCallingAccount(app, more);
  const stops: (() => Promise<void>)[] = [];
  return {
    ...(await openCallClient(api, account)),
    ...(await makeSandboxTrunk(app)),
    api,
    app,
    sandbox,
    startLeaders() {
      const leaders = leadNodes(app);
      stops.push(leaders.stop);
      return leaders;
    },
    async close() {
      for (const stop of stops) await stop();
      await sandbox.close();
      await api.close();
    },
  };
}
