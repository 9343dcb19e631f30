import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkContract } from "./contract.ts";

const records = [
  { name: "leads › a lead is created", outcome: "passed" },
  { name: "a | b and snake_case", outcome: "passed" },
  { name: "one › twice", outcome: "passed" },
  { name: "two › twice", outcome: "failed" },
  { name: "broken", outcome: "failed" },
  { name: "left out", outcome: "skipped" },
];

function check(t: TestContext, ...rows: string[]): ReturnType<typeof checkContract> {
  const root = mkdtempSync(join(tmpdir(), "contract-"));
  t.after(() => rmSync(root, { recursive: true }));
  const table = ["| clause id | clause | test |", "|---|:---|---:|", ...rows];
  const files = {
    "docs/contract.md": ["# Contract", "", ...table, ""].join("\n"),
    "server/lead.test.ts": "",
    "server/idle.test.ts": "",
    ".cache/tests-ran/server/lead.test.ts.jsonl": records
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(""),
  };
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
  }
  return checkContract(root, "docs/contract.md");
}

test("clauses whose tests passed, and those of modules to come, are without violation", (t) => {
  const result = check(
    t,
    "| 4.1-1 | by its full name | `server/lead.test.ts` › leads › a lead is created |",
    "| 4.1-2 | by the test alone | `server/lead.test.ts` › a lead is created |",
    "| 4.1-3 | two | `server/lead.test.ts` › a lead is created<br>`server/lead.test.ts` › a \\| b and snake\\_case |",
    "| 4.2-1 | not yet | later: chat |",
  );
  assert.deepEqual(result, { proved: 3, later: 1, violations: [] });
});

for (const [what, cell, violation] of [
  [
    "a test that failed",
    "`server/lead.test.ts` › broken",
    `"broken" of server/lead.test.ts failed`,
  ],
  [
    "a skipped test",
    "`server/lead.test.ts` › left out",
    `"left out" of server/lead.test.ts skipped`,
  ],
  [
    "a test that is not there",
    "`server/lead.test.ts` › lead",
    `server/lead.test.ts ran no test "lead"`,
  ],
  ["a file that is not there", "`server/gone.test.ts` › x", "server/gone.test.ts does not exist"],
  ["a file that did not run", "`server/idle.test.ts` › x", "server/idle.test.ts did not run"],
  [
    "a name of which one of two failed",
    "`server/lead.test.ts` › twice",
    `"two › twice" of server/lead.test.ts failed`,
  ],
  ["no test", "", `"" is neither \`file.test.ts\` › test nor later: module`],
  [
    "later without its module",
    "later",
    `"later" is neither \`file.test.ts\` › test nor later: module`,
  ],
] as const) {
  test(`a clause that rests on ${what} is named with its line`, (t) => {
    const { violations } = check(t, `| 4.1-1 | clause | ${cell} |`);
    assert.deepEqual(violations, [`docs/contract.md:5: 4.1-1: ${violation}`]);
  });
}

test("the second of two tests in a cell counts as much as the first", (t) => {
  const { violations } = check(
    t,
    "| 4.1-1 | two | `server/lead.test.ts` › a lead is created<br>`server/lead.test.ts` › broken |",
  );
  assert.deepEqual(violations, [
    `docs/contract.md:5: 4.1-1: "broken" of server/lead.test.ts failed`,
  ]);
});

test("two rows with one id are a violation", (t) => {
  const { violations } = check(t, "| 4.1-1 | a | later: chat |", "| 4.1-1 | b | later: chat |");
  assert.deepEqual(violations, ["docs/contract.md:6: 4.1-1: another row has this id"]);
});

test("a page without a row proves nothing and is a violation", (t) => {
  assert.deepEqual(check(t).violations, [
    "docs/contract.md: has no row with a clause and its test",
  ]);
});
