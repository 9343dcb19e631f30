import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { recordFunctionRevisions } from "./record-function-revisions.ts";

test("a new function gets revision 1, one with a changed definition the next, and a removed one must be dropped; the check fails and writes nothing until then", async () => {
  const dir = await mkdtemp(join(tmpdir(), "trunkline-functions-"));
  try {
    for (const folder of ["functions", "distributed"]) await mkdir(join(dir, folder));
    const json = join(dir, "functions.json");
    const revisions = async () =>
      Object.entries(
        JSON.parse(await readFile(json, "utf8")) as Record<string, { revision: number }>,
      ).map(([name, { revision }]) => `${name} ${revision}`);
    const change = (name: string, sql: string) => writeFile(join(dir, "functions", name), sql);

    await writeFile(json, "{}");
    await change("first.sql", "select 1;");
    await change("second.sql", "select 1;");
    assert.equal(recordFunctionRevisions(dir, { check: true }), false);
    assert.deepEqual(await revisions(), []);
    assert.equal(recordFunctionRevisions(dir, { check: false }), true);
    assert.deepEqual(await revisions(), ["first 1", "second 1"]);
    assert.equal(recordFunctionRevisions(dir, { check: true }), true);

    const distributed = join(dir, "distributed", "second.sql");
    await writeFile(distributed, "select 1;");
    assert.equal(recordFunctionRevisions(dir, { check: true }), false);
    recordFunctionRevisions(dir, { check: false });
    await writeFile(distributed, "select 2;");
    recordFunctionRevisions(dir, { check: false });
    assert.deepEqual(await revisions(), ["first 1", "second 3"]);

    await change("first.sql", "select 2;");
    await rm(join(dir, "functions", "second.sql"));
    assert.throws(
      () => recordFunctionRevisions(dir, { check: true }),
      /distributed\/second\.sql is the body of no function: functions\/second\.sql does not exist/,
    );
    await rm(distributed);
    assert.throws(
      () => recordFunctionRevisions(dir, { check: false }),
      /function second has no file: drop it in a numbered migration/,
    );
    await writeFile(join(dir, "0001-second.sql"), "drop function second(int);");
    recordFunctionRevisions(dir, { check: false });
    assert.deepEqual(await revisions(), ["first 2"]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
