import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** What a process that runs `statements` with a log writes, as parsed lines. */
function written(statements: string): { text: string; lines: Record<string, unknown>[] } {
  const script = `import { openLog } from ${JSON.stringify(join(import.meta.dirname, "log.ts"))};
    const log = openLog("info", { readable: false }); ${statements}`;
  const text = execFileSync(process.execPath, [
    "--input-type=module-typescript",
    "-e",
    script,
  ]).toString();
  return {
    text,
    lines: text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test("fields that are not on the allow-list never reach the log, however deep they sit", () => {
  const { text, lines } =
    written(`log.info({ request_id: "req_1", token: "trk_1_2_secret", phone: "9876543210",
    headers: { authorization: "Bearer secret" }, status: { nested: "secret" } }, "hello");`);
  assert.doesNotMatch(text, /secret|9876543210/);
  assert.equal(lines[0]!["request_id"], "req_1");
  assert.equal(lines[0]!["msg"], "hello");
});

test("of an error the log keeps type, code, message, stack and cause, never the row PostgreSQL quotes", () => {
  const { text, lines } = written(`log.error({ err: Object.assign(new Error("duplicate key", {
      cause: Object.assign(new Error("inner"), { detail: "secret" }) }),
    { code: "23505", detail: "Key (phone)=(9876543210) already exists", where: "secret" }) }, "failed");`);
  assert.doesNotMatch(text, /secret|9876543210/);
  const err = lines[0]!["err"] as Record<string, unknown>;
  assert.deepEqual([err["type"], err["code"], err["message"]], ["Error", "23505", "duplicate key"]);
  assert.equal((err["cause"] as Record<string, unknown>)["message"], "inner");
});

test("of a data exception the log keeps what was wrong, and not the value PostgreSQL quotes in its message", () => {
  const { text, lines } =
    written(`const error = (message) => Object.assign(new Error(message), { code: "22P02" });
    log.error({ err: error('invalid input syntax for type integer: "secret \\n "9876543210"') }, "failed");
    log.error({ err: new Error("outer", { cause: error('value "secret" is out of range') }) }, "failed");`);
  assert.doesNotMatch(text, /secret|9876543210/);
  const err = lines[0]!["err"] as Record<string, unknown>;
  assert.equal(err["message"], 'invalid input syntax for type integer: "…"');
  assert.match(String(err["stack"]), /^Error: invalid input syntax for type integer: "…"\n +at /);
});
