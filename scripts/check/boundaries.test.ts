import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkBoundaries, entities, ladder } from "./boundaries.ts";

function violationsOf(
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
  return checkBoundaries(
    root,
    expected ?? Object.keys(files).filter((file) => file.startsWith("server/")),
  ).violations;
}

test("imports down the ladder pass, whatever their form", (t) => {
  const violations = violationsOf(t, {
    "server/service.ts": `import { a } from "./api/a.ts"; import { s } from "./drivers/chat/sandbox.ts";`,
    "server/api/a.ts": `import type { C } from "../reports/c.ts"; export const a = import("../lib/deep/l.ts");`,
    "server/reports/c.ts": `import { i } from "./import/i.ts"; export type C = typeof i;`,
    "server/reports/import/i.ts": `import { x } from "../../drivers/chat/driver.ts"; export { x as i };`,
    "server/drivers/chat/driver.ts": `export const x = 1;`,
    "server/drivers/chat/sandbox.ts": `export { x as s } from "./driver.ts";`,
    "server/lib/deep/l.ts": `export const l = 1;`,
  });
  assert.deepEqual(violations, []);
});

for (const [what, source, reason] of [
  [
    "a part above",
    `import { a } from "../api/a.ts";`,
    "imports ../api/a.ts, which stands above reports",
  ],
  ["a neighbor", `import { s } from "../live/send.ts";`, "a neighbor on the ladder"],
  ["a type of a part above", `import type { A } from "../api/a.ts";`, "which stands above reports"],
  ["a re-export of a part above", `export * from "../api/a.ts";`, "which stands above reports"],
  [
    "a dynamic import of a part above",
    `await import("../api/a.ts");`,
    "which stands above reports",
  ],
  [
    "a worker thread above",
    `new URL("../api/a.ts", import.meta.url);`,
    "which stands above reports",
  ],
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
    const violations = violationsOf(t, {
      "server/reports/c.ts": source,
      "server/api/a.ts": "export {};",
      "server/live/send.ts": "export {};",
      "server/engine/sql/x.ts": "export {};",
      "server/drivers/chat/sandbox.ts": "export {};",
    });
    assert.equal(violations.length, 1, violations.join("\n"));
    assert.match(violations[0] ?? "", /^server\/reports\/c\.ts: imports /);
    assert.ok(violations[0]?.includes(reason), violations[0]);
  });
}

for (const [what, from, source, reason] of [
  [
    "an entity folder above",
    "campaigns/c.ts",
    `import "../sender/s.ts";`,
    "stands above campaigns",
  ],
  ["a neighboring entity folder", "flows/f.ts", `import "../numbers/n.ts";`, "a neighbor on"],
  [
    "a private file of an entity folder",
    "sender/s.ts",
    `import "../campaigns/internal/i.ts";`,
    "private to server/chat/campaigns/",
  ],
] as const) {
  test(`an entity folder that imports ${what} is named with the reason`, (t) => {
    const files = ["campaigns/c.ts", "campaigns/internal/i.ts", "flows/f.ts", "numbers/n.ts"];
    const violations = violationsOf(t, {
      "server/main.ts": [...files, "sender/s.ts"]
        .filter((file) => !file.includes("internal"))
        .map((file) => `import "./chat/${file}";`)
        .join("\n"),
      ...Object.fromEntries(files.map((file) => [`server/chat/${file}`, "export {};"])),
      "server/chat/sender/s.ts": "export {};",
      [`server/chat/${from}`]: source,
    });
    assert.equal(violations.length, 1, violations.join("\n"));
    assert.ok(violations[0]?.includes(reason), violations[0]);
  });
}

test("a public file that only its own entity folder uses is named", (t) => {
  const violations = violationsOf(t, {
    "server/main.ts": `import "./chat/flows/a.ts";`,
    "server/chat/flows/a.ts": `import "./b.ts"; import "./internal/c.ts";`,
    "server/chat/flows/b.ts": "export {};",
    "server/chat/flows/d.ts": "export {};",
    "server/chat/flows/internal/c.ts": "export {};",
    "console/from-server.ts": `export { d } from "../server/chat/flows/d.ts";`,
  });
  assert.deepEqual(violations, [
    "server/chat/flows/b.ts: only server/chat/flows/ uses it; move it to a subfolder",
  ]);
});

test("files that import each other in a circle are named", (t) => {
  const violations = violationsOf(t, {
    "server/lib/a.ts": `import "./b.ts";`,
    "server/lib/b.ts": `import "./c.ts"; import "./d.ts";`,
    "server/lib/c.ts": `import type { A } from "./a.ts";`,
    "server/lib/d.ts": "export {};",
  });
  assert.deepEqual(violations, [
    "server/lib/a.ts, server/lib/b.ts, server/lib/c.ts: import each other in a circle",
  ]);
});

test("a folder with more than 25 files is named, its tests not counted", (t) => {
  const names = Array.from({ length: 26 }, (_, i) => `server/lib/f${i}.ts`);
  const source = (files: string[]) => Object.fromEntries(files.map((file) => [file, "export {};"]));
  assert.deepEqual(violationsOf(t, source([...names.slice(1), "server/lib/f1.test.ts"])), []);
  assert.deepEqual(violationsOf(t, source(names)), ["server/lib/: 26 files, more than 25"]);
});

test("a driver that knows the database is refused", (t) => {
  const violations = violationsOf(t, { "server/drivers/chat/meta.ts": `import pg from "pg";` });
  assert.deepEqual(violations, [
    "server/drivers/chat/meta.ts: imports pg, which drivers must not know",
  ]);
});

test("a file beside driver.ts may choose among its drivers, which do not know each other", (t) => {
  const violations = violationsOf(t, {
    "server/drivers/chat/choose.ts": `import "./one/one.ts"; import "./two/two.ts";`,
    "server/drivers/chat/one/one.ts": "export {};",
    "server/drivers/chat/two/two.ts": `import "../one/one.ts";`,
  });
  assert.deepEqual(violations, [
    "server/drivers/chat/two/two.ts: imports ../one/one.ts, a driver's implementation",
  ]);
});

test("a test may import a driver's implementation and any row", (t) => {
  const violations = violationsOf(t, {
    "server/reports/c.test.ts": `import "../drivers/chat/sandbox.ts"; import "../api/a.ts"; import "../../test/support/x.ts";`,
    "server/drivers/chat/sandbox.ts": "export {};",
    "server/api/a.ts": "export {};",
  });
  assert.deepEqual(violations, []);
});

test("a folder without a place on the ladder is refused", (t) => {
  const violations = violationsOf(t, { "server/helpers/x.ts": "export {};" });
  assert.deepEqual(violations, [`server/helpers/x.ts: "helpers" has no place on the ladder`]);
});

test("seeing fewer modules than there are files, or none, is a violation", (t) => {
  const seen = { "server/lib/a.ts": "export {};" };
  assert.deepEqual(violationsOf(t, seen, ["server/lib/a.ts", "server/lib/b.ts"]), [
    "server/lib/b.ts: this file was not seen by the checker",
  ]);
  assert.deepEqual(violationsOf(t, { "server/readme.txt": "" }, []), [
    "server/: no module was seen",
  ]);
});

test("a module that cannot be parsed is a violation, not an empty list of imports", (t) => {
  const violations = violationsOf(t, { "server/lib/a.ts": "import {{" });
  assert.match(violations[0] ?? "", /^server\/lib\/a\.ts: cannot be parsed/);
});

test("CONTRIBUTING lists the ladder that is checked", () => {
  const page = readFileSync(join(import.meta.dirname, "../../CONTRIBUTING.md"), "utf8");
  const rows = ladder.map((row, index) => `${index + 1}. ${row.join(", ")}`);
  const features = Object.entries(entities).map(
    ([feature, order]) => `- ${feature}: ${order.map((row) => row.join(", ")).join(" > ")}`,
  );
  assert.ok(page.includes(`\n${rows.join("\n")}\n`), "the rows of the features differ");
  assert.ok(page.includes(`\n${features.join("\n")}\n`), "the rows of the entity folders differ");
});
