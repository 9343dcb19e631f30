import { openSandboxDriver } from "../../server/drivers/chat/sandbox/open-sandbox-driver.ts";

/** The sandbox without its reports: it takes messages, and has no timers that a test would have to end. */
export const quietSandbox = openSandboxDriver({ deliver: () => {}, schedule: () => () => {} });
