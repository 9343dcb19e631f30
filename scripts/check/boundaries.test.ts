import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkBoundaries } from "./boundaries.ts";

function faultsOf(
  t: TestContext,
  files: Record<string, string>,
  expected?: string[],
): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), "boundaries-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [file, source] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), source);
  }
  return checkBoundaries(root, expected ?? Object.keys(files)).faults;
}

test("imports down the ladder pass, whatever their form", (t) => {
  const faults = faultsOf(t, {
    "server/main.ts": `import { a } from "./api/a.ts"; import { s } from "./drivers/chat/sandbox.ts";`,
    "server/api/a.ts": `import type { C } from "../crm/c.ts"; export const a = import("../lib/deep/l.ts");`,
    "server/crm/c.ts": `import { i } from "./import/i.ts"; export type C = typeof i;`,
    "server/crm/import/i.ts": `import { x } from "../../drivers/chat/driver.ts"; export { x as i };`,
    "server/drivers/chat/driver.ts": `export const x = 1;`,
    "server/drivers/chat/sandbox.ts": `export { x as s } from "./driver.ts";`,
    "server/lib/deep/l.ts": `export const l = 1;`,
  });
  assert.deepEqual(faults, []);
});

for (const [what, source, reason] of [
  [
    "a part above",
    `import { a } from "../api/a.ts";`,
    "imports ../api/a.ts, which stands above crm",
  ],
  ["a neighbour", `import { s } from "../chat/send.ts";`, "a neighbour on the ladder"],
  ["a type of a part above", `import type { A } from "../api/a.ts";`, "which stands above crm"],
  ["a re-export of a part above", `export * from "../api/a.ts";`, "which stands above crm"],
  ["a dynamic import of a part above", `await import("../api/a.ts");`, "which stands above crm"],
  ["a worker thread above", `new URL("../api/a.ts", import.meta.url);`, "which stands above crm"],
  [
    "another folder's subfolder",
    `import "../engine/sql/x.ts";`,
    "which is private to server/engine/",
  ],
  [
    "a driver's implementation",
    `import "../drivers/chat/sandbox.ts";`,
    "a driver's implementation",
  ],
  ["a file that is not there", `import "./gone.ts";`, "which does not exist"],
  ["test support", `import "../../test/support/x.ts";`, "which is outside server/"],
] as const) {
  test(`a module that imports ${what} is named with the reason`, (t) => {
    const faults = faultsOf(t, {
      "server/crm/c.ts": source,
      "server/api/a.ts": "export {};",
      "server/chat/send.ts": "export {};",
      "server/engine/sql/x.ts": "export {};",
      "server/drivers/chat/sandbox.ts": "export {};",
    });
    assert.equal(faults.length, 1, faults.join("\n"));
    assert.match(faults[0] ?? "", /^server\/crm\/c\.ts: imports /);
    assert.ok(faults[0]?.includes(reason), faults[0]);
  });
}

test("a driver that knows the database is refused", (t) => {
  const faults = faultsOf(t, { "server/drivers/chat/meta.ts": `import pg from "pg";` });
  assert.deepEqual(faults, [
    "server/drivers/chat/meta.ts: imports pg, which drivers must not know",
  ]);
});

test("a file beside driver.ts may choose among its drivers, which do not know each other", (t) => {
  const faults = faultsOf(t, {
    "server/drivers/chat/choose.ts": `import "./one/one.ts"; import "./two/two.ts";`,
    "server/drivers/chat/one/one.ts": "export {};",
    "server/drivers/chat/two/two.ts": `import "../one/one.ts";`,
  });
  assert.deepEqual(faults, [
    "server/drivers/chat/two/two.ts: imports ../one/one.ts, a driver's implementation",
  ]);
});

test("a test may import a driver's implementation and any row", (t) => {
  const faults = faultsOf(t, {
    "server/crm/c.test.ts": `import "../drivers/chat/sandbox.ts"; import "../api/a.ts"; import "../../test/support/x.ts";`,
    "server/drivers/chat/sandbox.ts": "export {};",
    "server/api/a.ts": "export {};",
  });
  assert.deepEqual(faults, []);
});

test("a folder without a place on the ladder is refused", (t) => {
  const faults = faultsOf(t, { "server/helpers/x.ts": "export {};" });
  assert.deepEqual(faults, [`server/helpers/x.ts: "helpers" has no place on the ladder`]);
});

test("seeing fewer modules than there are files, or none, is a fault", (t) => {
  const seen = { "server/lib/a.ts": "export {};" };
  assert.deepEqual(faultsOf(t, seen, ["server/lib/a.ts", "server/lib/b.ts"]), [
    "server/lib/b.ts: this file was not seen by the checker",
  ]);
  assert.deepEqual(faultsOf(t, { "server/readme.txt": "" }, []), ["server/: no module was seen"]);
});

test("a module that cannot be parsed is a fault, not an empty list of imports", (t) => {
  const faults = faultsOf(t, { "server/lib/a.ts": "import {{" });
  assert.match(faults[0] ?? "", /^server\/lib\/a\.ts: cannot be parsed/);
});
