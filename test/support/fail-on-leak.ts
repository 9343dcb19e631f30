// Loaded into the process of every test file: a process that stays alive after its tests, because of an
// open pool, socket or child, fails with a message, where node:test would wait forever.
import { after } from "node:test";

const grace_ms = Number(process.env["TEST_EXIT_GRACE_MS"] ?? 60_000);

// The test runner loads this too; it has no tests.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  after(() => {
    setTimeout(() => {
      const open = [...new Set(process.getActiveResourcesInfo())].join(", ");
      console.error(`still open ${grace_ms} ms after the tests: ${open}`);
      process.exit(1);
    }, grace_ms).unref();
  });
}
