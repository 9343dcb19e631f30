import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { recordFunctionRevisions } from "./record-function-revisions.ts";

test("a new function gets revision 1, a changed one the next, and a removed one must be dropped; the check fails and writes nothing until then", async () => {
  const dir = await mkdtemp(join(tmpdir(), "trunkline-functions-"));
  try {
    await mkdir(join(dir, "functions"));
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

    await change("first.sql", "select 2;");
    await rm(join(dir, "functions", "second.sql"));
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
