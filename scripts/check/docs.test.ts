import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkDocs } from "./docs.ts";

function violationsOf(t: TestContext, text: string, page = "docs/page.md"): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), "docs-"));
  t.after(() => rmSync(root, { recursive: true }));
  const files = {
    [page]: text,
    "README.md": "",
    "server/crm/leads/create-lead.ts": "",
    "package.json": `{"scripts": {"test": "x", "check": "x", "test:fuzz": "x"}}`,
    "bench/package.json": `{"scripts": {"smoke": "x"}}`,
  };
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
  }
  return checkDocs(root, [page]);
}

test("accepts links, paths, globs, lines and scripts that exist, and external addresses", (t) => {
  const text = [
    "[up](../README.md#top) [out](https://example.org/x) [here](#here) `server/crm/`",
    "`server/crm/leads/create-lead.ts:12` `server/*/*/*.ts` `serverless/x` `GET server/x y`",
    "Type `npm run check`, `npm run test:fuzz`, npm test or `npm --prefix bench run smoke`.",
    "[ref]: ../README.md",
  ].join("\n");
  assert.deepEqual(violationsOf(t, text), []);
});

for (const [line, violation] of [
  ["see [this](gone.md)", "the link to gone.md is broken"],
  ["[ref]: ./gone.md", "the link to ./gone.md is broken"],
  ["in `server/crm/gone.ts`", "server/crm/gone.ts does not exist"],
  ["in `server/voice/*.ts`", "server/voice/*.ts does not exist"],
  ["run `npm run gone`.", `package.json has no script "gone"`],
  ["type npm start", `package.json has no script "start"`],
  ["npm --prefix bench run gone", `bench/package.json has no script "gone"`],
] as const) {
  test(`"${line}" is reported with its file and line if the target does not exist`, (t) => {
    assert.deepEqual(violationsOf(t, `first\n\n${line}\n`), [`docs/page.md:3: ${violation}`]);
  });
}

test("requires scripts in code blocks to exist, but not paths", (t) => {
  const text = "```sh\nnpm run gone\ncat `server/gone.ts`\n```\n`server/gone.ts`\n";
  assert.deepEqual(violationsOf(t, text), [
    `docs/page.md:2: package.json has no script "gone"`,
    "docs/page.md:5: server/gone.ts does not exist",
  ]);
});

test("a decision may name files that no longer exist", (t) => {
  assert.deepEqual(violationsOf(t, "`server/gone.ts`", "docs/decisions/2026-01-01-x.md"), []);
});
