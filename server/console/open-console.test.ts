import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { scratchFolder } from "../../test/support/scratch-folder.ts";
import { openLog } from "../lib/log.ts";
import { openConsole, type Console } from "./open-console.ts";

const log = openLog("silent", { readable: false });
const page = { headers: { accept: "text/html,*/*" } };

/** Of a checkout in which the console was not built ahead. */
const none_ahead = "/no/such/folder";

let data_dir: string;
let built: Console;
let api: TestApi;

before(async () => {
  data_dir = scratchFolder("console");
  built = openConsole(data_dir, log, none_ahead);
  api = await startApi({ console: built });
});
after(async () => {
  await built.close();
  await api.close();
  await rm(data_dir, { recursive: true });
});

/** Waits for the build and returns its folder. */
async function dirOf(console: Console): Promise<string> {
  await eventually(() => console.state().status !== "building");
  const state = console.state();
  assert.ok(state.status === "ready", JSON.stringify(state));
  return state.dir;
}

test("while the console is built, its page says so, and the API answers", async () => {
  const waiting = await api.send("GET", "/", page);
  assert.equal(waiting.status, 503);
  assert.match(waiting.text, /is being built/);
  const policy = waiting.headers.get("content-security-policy")!;
  assert.doesNotMatch(policy, /unsafe/);
  // By script: a refresh header reloads nothing at an address with a fragment, such as the sign-in link.
  const [, script = ""] = /<script>(.*)<\/script>/.exec(waiting.text) ?? [];
  assert.match(script, /location\.reload\(\)/);
  const hash = createHash("sha256").update(script).digest("base64");
  assert.ok(policy.includes(`script-src 'sha256-${hash}'`));
  assert.equal((await api.send("GET", "/health/live")).status, 200);
  await dirOf(built);
});

test("every path of the console shows its page under a strict policy; the API's unknown paths are JSON", async () => {
  await dirOf(built);
  for (const path of ["/", "/sign-in", "/leads?q=Ada", "/no/such/page"]) {
    const { status, text, headers } = await api.send("GET", path, page);
    assert.equal(status, 200, path);
    assert.match(text, /<div id="root">/);
    assert.doesNotMatch(text, /<script(?![^>]*src=)|<style|style=/);
    const policy = headers.get("content-security-policy")!;
    assert.match(policy, /script-src 'self'; style-src 'self';/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(headers.get("cache-control"), "no-cache");
  }
  for (const path of ["/api/v1/no-such", "/api/none", "/hooks/none", "/assets/none.js"]) {
    const { status, headers } = await api.send("GET", path, page);
    assert.equal(status, 404, path);
    assert.match(headers.get("content-type")!, /problem\+json/);
  }
  assert.equal((await api.send("GET", "/no/such/page")).status, 404, "not a browser");
  assert.equal((await api.send("POST", "/leads", page)).status, 404, "not a navigation");
});

test("the console's files are sent compressed and may be kept for ever", async () => {
  const { text } = await api.send("GET", "/", page);
  const scripts = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)];
  assert.ok(scripts.length >= 2);
  for (const [, path] of scripts) {
    const answer = await api.send("GET", path!, { headers: { "accept-encoding": "br" } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-encoding"), "br");
    assert.match(answer.headers.get("cache-control")!, /max-age=31536000, immutable/);
  }
  assert.equal((await api.send("GET", "/assets/../index.html")).status, 404);
  assert.equal((await api.send("GET", "/assets/%2e%2e/sources.sha256")).status, 404);
});

test("a second start builds nothing", async () => {
  const dir = await dirOf(built);
  const earlier = await stat(join(dir, "index.html"));
  const again = openConsole(data_dir, log, none_ahead);
  assert.equal(await dirOf(again), dir);
  assert.equal((await stat(join(dir, "index.html"))).mtimeMs, earlier.mtimeMs);
});

test("a build that fails does not affect the API, and the page says why", async () => {
  const folder = scratchFolder("console-file");
  const file = join(folder, "data");
  await writeFile(file, "not a folder");
  const failed = openConsole(file, log, none_ahead);
  const other = await startApi({ console: failed });
  await eventually(() => failed.state().status === "failed");
  const { status, text } = await other.send("GET", "/", page);
  assert.equal(status, 503);
  assert.match(text, /could not be built/);
  assert.match(text, /ENOTDIR/);
  assert.equal((await other.send("GET", "/health/live")).status, 200);
  await other.close();
  await rm(folder, { recursive: true });
});
