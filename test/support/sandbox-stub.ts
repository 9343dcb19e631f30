import { openSandboxDriver } from "../../server/drivers/chat/sandbox/open-sandbox-driver.ts";
import { openSandboxVoiceDriver } from "../../server/drivers/voice/sandbox/open-sandbox-driver.ts";

/** The chat sandbox without delivery statuses and timers: it accepts every message. */
export const sandboxStub = openSandboxDriver({ deliver: () => {}, schedule: () => () => {} });

/** The voice sandbox with timers that never fire, so that no call makes progress. */
export const voiceSandboxStub = openSandboxVoiceDriver({
  timers: { now: Date.now, schedule: () => () => {} },
});
