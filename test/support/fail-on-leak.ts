// Loaded into every test file's process: one that stays alive after its tests, for a pool, a socket
// or a child left open, fails and says so, where node:test would wait for it for ever.
import { after } from "node:test";

const grace_ms = Number(process.env["TEST_EXIT_GRACE_MS"] ?? 60_000);

// The runner loads this too, and has no tests of its own.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  after(() => {
    setTimeout(() => {
      const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
      console.error(`still open ${grace_ms} ms after the tests: ${open}`);
      process.exit(1);
    }, grace_ms).unref();
  });
}
