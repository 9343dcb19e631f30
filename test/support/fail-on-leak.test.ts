import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

const preload = join(import.meta.dirname, "fail-on-leak.ts");

function run(
  t: TestContext,
  source: string,
  grace_ms: number,
): { status: number | null; output: string } {
  const dir = mkdtempSync(join(tmpdir(), "leak-"));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, "sample.test.mjs"), source);
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
  const env = { ...rest, TEST_EXIT_GRACE_MS: String(grace_ms) };
  const options = { cwd: dir, env, encoding: "utf8" } as const;
  const { status, stdout } = spawnSync(process.execPath, ["--import", preload, "--test"], options);
  return { status, output: stdout };
}

test("a test file that does not close a server fails instead of hanging the run", (t) => {
  const { status, output } = run(
    t,
    `import { createServer } from "node:net"; import { test } from "node:test";
    test("passes", () => void createServer().listen(0, "127.0.0.1"));`,
    100,
  );
  assert.equal(status, 1);
  assert.match(output, /still open 100 ms after the tests: .*TCPServerWrap/);
});

test("a test file that closes what it opened passes", (t) => {
  const { status } = run(
    t,
    `import { createServer } from "node:net"; import { after, test } from "node:test";
    const server = createServer().listen(0, "127.0.0.1");
    after(() => void server.close());
    test("passes", () => {});`,
    120_000,
  );
  assert.equal(status, 0);
});
