import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import type { AllowedUse } from "./vocabulary-allowed.ts";
import { checkVocabulary } from "./vocabulary.ts";

const glossary = `# Glossary

- **judge**: named here.

## Retired words

| retired | use instead |
|---|---|
| \`judge\` | validate |
| \`told\` | reported |
| \`wind down\` | drain |
`;

function violationsOf(
  t: TestContext,
  text: string,
  { file = "server/a.ts", allowed = [] }: { file?: string; allowed?: readonly AllowedUse[] } = {},
): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), "vocabulary-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, content] of [
    ["docs/glossary.md", glossary],
    [file, text],
  ] as const) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return checkVocabulary(root, ["docs/glossary.md", file], allowed);
}

for (const [where, text] of [
  ["prose", "// The lead is judged here."],
  ["a camel-case identifier", "const rowJudge = 1;"],
  ["a constant", "const JUDGE_MAX = 1;"],
  ["a column", "select judging_at from x"],
] as const) {
  test(`a retired word in ${where} fails with its replacement`, (t) => {
    assert.deepEqual(violationsOf(t, `\n${text}`), [`server/a.ts:2: says "judge"; say validate`]);
  });
}

test("a retired phrase fails however it is joined", (t) => {
  assert.equal(violationsOf(t, "windDown();\nwind-down\nwind_down\nwe wind down").length, 4);
});

test("a file name with a retired word fails", (t) => {
  assert.deepEqual(violationsOf(t, "", { file: "server/judge-lead.ts" }), [
    `server/judge-lead.ts: is named with "judge"; say validate`,
  ]);
});

test("words that only contain a retired one pass", (t) => {
  assert.deepEqual(violationsOf(t, "prejudged judgement toldo windowDown"), []);
});

test("an allowed use covers its path or its line, for its word alone", (t) => {
  const why = "a test";
  const byLine = [{ word: "judge", where: /judge of the court/, why }];
  assert.deepEqual(violationsOf(t, "the judge of the court", { allowed: byLine }), []);
  assert.equal(violationsOf(t, "the judge of the court was told", { allowed: byLine }).length, 1);
  const byPath = [{ word: "judge", where: "server/", why }];
  assert.deepEqual(violationsOf(t, "judge", { allowed: byPath }), []);
});

test("an allowed use that covers nothing fails", (t) => {
  const allowed = [{ word: "judge", where: "test/", why: "a test" }];
  assert.deepEqual(violationsOf(t, "", { allowed }), [
    `the allowed use of "judge" (test/) covers nothing`,
  ]);
});
