// The build that operators run: see "Install as a service" in docs/guides/operation.md.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { hash_file } from "../server/lib/installation/builds.ts";
import { install_dir } from "../server/lib/installation/install-dir.ts";
import { readDemo } from "../server/seed-demo/demo-file.ts";
import { cloneDatabase } from "./support/database.ts";
import { startService, type ServiceProcess } from "./support/service-process.ts";

const warning = /not a build of these sources/;

/** Stands for the folder of an installation, inside this one, whose packages it uses. */
let folder: string;
let build: string;

before(async () => {
  folder = await mkdtemp(join(install_dir, ".cache/build-test-"));
  build = join(folder, "dist/server");
  const script = join(install_dir, "scripts/build-server.ts");
  await promisify(execFile)(process.execPath, [script, build]);
});
after(() => rm(folder, { recursive: true }));

test("a build contains each file that its modules read or run as a thread", async () => {
  const scripts = (await readdir(build)).filter((name) => name.endsWith(".js"));
  const named: string[] = [];
  for (const script of scripts) {
    const code = await readFile(join(build, script), "utf8");
    for (const [, file] of code.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g)) {
      named.push(file!);
      assert.ok(existsSync(join(build, file!)), `${script} names ${file}`);
    }
  }
  const sources = ["body-thread", "file-thread", "csv-thread", "decode-thread", "phone-time-zones"];
  for (const name of sources)
    assert.ok(
      named.some((file) => file.includes(name)),
      name,
    );
});

test("a service that runs its build creates a campaign from a file", async (t) => {
  const service = await startBuild(t);
  const demo = (await readDemo(service.data_dir))!;
  const form = new FormData();
  form.set("file", new Blob(["phone_number,1\n919870000001,Ada\n"], { type: "text/csv" }), "p.csv");
  form.set("name", "Spring sale");
  form.set("chat_number_id", String(demo.chat_number_id));
  form.set("template_id", String(demo.template_id));
  const { status, text } = await service.send("POST", "/api/v1/chat/campaigns/csv", {
    token: demo.tokens["account"],
    headers: { "idempotency-key": "build" },
    raw: form,
  });
  assert.equal(status, 201, text);
  assert.doesNotMatch(service.output(), warning);
});

test("a build of other sources runs the installation's sources, and says so", async (t) => {
  await writeFile(join(build, hash_file), "other\n");
  const service = await startBuild(t);
  assert.match(service.output(), warning);
});

async function startBuild(t: TestContext): Promise<ServiceProcess> {
  const database = await cloneDatabase();
  t.after(() => database.drop());
  const service = await startService({ DATABASE_URL: database.url }, folder);
  t.after(() => service.dispose());
  return service;
}
