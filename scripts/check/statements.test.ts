import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Recorded } from "../lib/recorded-runs.ts";
import { checkStatements } from "./statements.ts";

const migrations = join(import.meta.dirname, "../../migrations");

/** Checks the statements that tests have recorded, of a server with these files. */
function check(t: TestContext, files: Readonly<Record<string, string>>, recorded: Recorded[]) {
  const root = mkdtempSync(join(tmpdir(), "statements-"));
  t.after(() => rmSync(root, { recursive: true }));
  cpSync(migrations, join(root, "migrations"), { recursive: true });
  const run = JSON.stringify({ cpu_ms: 1, statements: recorded });
  const written = { ...files, ".cache/statements-ran/a.test.ts.json": run };
  for (const [file, text] of Object.entries(written)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return checkStatements(root, Object.keys(files));
}

const all_leads = "select l.id, l.name from leads l order by l.id";

test("reports a statement with the file that has issued it", (t) => {
  const { statements, violations } = check(t, { "server/a.ts": "" }, [
    { source: "server/a.ts", text: all_leads },
    { source: "server/a.ts", text: "select l.id from leads l where l.account_id = $1" },
  ]);
  assert.equal(statements, 2);
  assert.deepEqual(violations, [
    `server/a.ts: reads l without one account (several-accounts)\n    ${all_leads}`,
  ]);
});

test("finds the file of a statement whose source is unknown by its text", (t) => {
  const files = { "server/a.ts": "", "server/b.ts": `const all = "${all_leads}";` };
  const { violations } = check(t, files, [{ source: "unknown", text: all_leads }]);
  assert.match(violations.join(), /^server\/b\.ts: /);
});

test("omits the statements of tests", (t) => {
  const found = check(t, { "server/a.ts": "" }, [{ source: "unknown", text: all_leads }]);
  assert.deepEqual(found, { statements: 0, violations: [] });
});

test("refuses to count selected rows that are inserted on conflict", (t) => {
  const insert = "insert into leads (account_id, id) select $1, 2 on conflict do nothing";
  const recorded = [
    { source: "server/a.ts", text: insert },
    { source: "server/a.ts", text: `${insert} returning id` },
    { source: "server/b.ts", text: `${insert} ` },
  ];
  const files = { "server/a.ts": "const { rowCount } = await query();", "server/b.ts": "" };
  const { violations } = check(t, files, recorded);
  assert.equal(violations.length, 1);
  assert.match(violations[0]!, /^server\/a\.ts: .*\(count-after-conflict\)\n.*do nothing$/);
});

test("reports an exception that the statements of its file do not need", (t) => {
  const file = "server/engine/work-jobs.ts";
  const { violations } = check(t, { [file]: "" }, [
    { source: file, text: "select j.id from jobs j where j.account_id = $1" },
  ]);
  assert.ok(violations.some((text) => /work-jobs\.ts: .*several-accounts.* delete it/.test(text)));
});
