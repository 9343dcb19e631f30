import { openSandboxDriver } from "../../server/drivers/chat/sandbox/open-sandbox-driver.ts";
import { openSandboxVoiceDriver } from "../../server/drivers/voice/sandbox/open-sandbox-driver.ts";

/** The sandbox without its reports: it takes messages, and has no timers that a test would have to end. */
export const sandboxStub = openSandboxDriver({ deliver: () => {}, schedule: () => () => {} });

/** The switch of the sandbox in which nothing ever happens, for the same reason. */
export const voiceSandboxStub = openSandboxVoiceDriver({
  timers: { now: Date.now, schedule: () => () => {} },
});
