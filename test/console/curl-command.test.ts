import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import type { DescribedWrite } from "../../console/api/described-write.ts";
import { curlCommand } from "../../console/ui/curl-command.ts";

const write: DescribedWrite = {
  method: "POST",
  url: "http://127.0.0.1:1/api/v1/groups",
  headers: [["idempotency-key", "a'b"]],
  body: null,
};

/** The words that curl gets when a shell runs the command. */
function wordsOf(body: DescribedWrite["body"]): string[] {
  const { command } = curlCommand({ ...write, body });
  const script = `curl() { printf '%s\\0' "$@"; }; ${command}`;
  const env = { TRUNKLINE_TOKEN: "secret" };
  return execFileSync("sh", ["-c", script], { encoding: "utf8", env }).split("\0").slice(0, -1);
}

test("whatever a form contains is one word of the command, and nothing of it runs", () => {
  for (const text of [
    "it's",
    "$(touch x) `id` $HOME",
    'say "hi" \\ \n line',
    "' ; echo '",
    "नमस्ते 👋",
  ]) {
    const body = JSON.stringify({ name: text });
    assert.deepEqual(wordsOf(body), [
      "--request",
      "POST",
      write.url,
      "--header",
      "authorization: Bearer secret",
      "--header",
      "idempotency-key: a'b",
      "--data-raw",
      body,
    ]);
  }
});

test("a form with a file names it, and its other parts are text whatever they begin with", () => {
  const form = new FormData();
  form.append("note", "@/etc/passwd");
  form.append("file", new File(["x"], 'my "list".csv'));
  assert.deepEqual(wordsOf(form).slice(-4), [
    "--form-string",
    "note=@/etc/passwd",
    "--form",
    String.raw`file=@"my \"list\".csv"`,
  ]);
});

test("a body that is too long for a command line is a file of its own", () => {
  const body = JSON.stringify({ contacts: Array.from({ length: 500 }, (_, at) => `9876${at}`) });
  assert.equal(curlCommand({ ...write, body }).file, body);
  assert.deepEqual(wordsOf(body).slice(-2), ["--data-binary", "@body.json"]);
});
